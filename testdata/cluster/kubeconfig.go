package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// endpoint is how clients reach a running API server.
type endpoint struct {
	url    string
	ca     []byte
	tokens map[string]string // by user
}

// restConfig returns a client configuration without a rate limit. The agent becomes the field manager of the client's
// writes.
func (e *endpoint) restConfig(user, agent string) *rest.Config {
	return &rest.Config{
		Host:            e.url,
		BearerToken:     e.tokens[user],
		TLSClientConfig: rest.TLSClientConfig{CAData: e.ca},
		UserAgent:       agent,
		QPS:             -1,
	}
}

// userKubeconfig returns a kubeconfig for people and tests: the contexts admin,
// which is current, and limited.
func userKubeconfig(e *endpoint) *clientcmdapi.Config {
	return e.kubeconfig(userAdmin, userLimited)
}

// kubeconfig returns a kubeconfig with a context for every user; the first is
// the current one.
func (e *endpoint) kubeconfig(users ...string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.CurrentContext = users[0]
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.CertificateAuthorityData = e.url, e.ca
	config.Clusters["cluster"] = cluster
	for _, user := range users {
		auth := clientcmdapi.NewAuthInfo()
		auth.Token = e.tokens[user]
		config.AuthInfos[user] = auth
		context := clientcmdapi.NewContext()
		context.Cluster, context.AuthInfo, context.Namespace = "cluster", user, metav1.NamespaceDefault
		config.Contexts[user] = context
	}
	return config
}

// writeKubeconfig writes config to path in one step.
func writeKubeconfig(path string, config *clientcmdapi.Config) error {
	content, err := clientcmd.Write(*config)
	if err == nil {
		err = replaceFile(path, content)
	}
	if err != nil {
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	}
	return nil
}
