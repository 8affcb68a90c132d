package main

import "github.com/spf13/cobra"

const completionPlugin = "kubectl_complete-dwatch"

func addCompletion(cmd *cobra.Command, o *options) {}
