{{- /* How all of it is called. */}}
{{- define "dwatch.name"}}{{.Values.fullnameOverride | default .Release.Name}}{{end}}

{{- define "dwatch.account"}}{{.Values.serviceAccount.name | default (include "dwatch.name" .)}}{{end}}

{{- /* A map in one line. */}}
{{- define "dwatch.flow"}}{ {{- $comma := ""}}{{range $key, $value := .}}{{$comma}}{{quote $key}}: {{quote $value}}{{$comma = ", "}}{{end -}} }{{end}}

{{- /* Whether one of the replicas works, and how many shards they have; empty: none. */}}
{{- define "dwatch.leads"}}{{range .Values.args}}{{if hasPrefix "--lease=" .}}true{{end}}{{end}}{{end}}
{{- define "dwatch.shards"}}{{range .Values.args}}{{if hasPrefix "--shard=auto/" .}}{{trimPrefix "--shard=auto/" .}}{{end}}{{end}}{{end}}

{{- /* What finds the pod. */}}
{{- define "dwatch.selector"}}
{{- include "dwatch.flow" (dict "app.kubernetes.io/name" "dwatch" "app.kubernetes.io/instance" (include "dwatch.name" .))}}
{{- end}}

{{- /* Labels of a part, which may have more. */}}
{{- define "dwatch.labels"}}
{{- $own := dict "app.kubernetes.io/name" "dwatch" "app.kubernetes.io/instance" (include "dwatch.name" .root)}}
{{- include "dwatch.flow" (merge $own (.labels | default dict) .root.Values.commonLabels)}}
{{- end}}

{{- define "dwatch.annotations"}}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations}}
  annotations: {{include "dwatch.flow" .}}
{{- end}}
{{- end}}

{{- define "dwatch.metadata" -}}
metadata:
  name: {{include "dwatch.name" .root | quote}}
  namespace: {{quote .root.Release.Namespace}}
  labels: {{include "dwatch.labels" .}}
{{- include "dwatch.annotations" .}}
{{- end}}

{{- /* Whether there is something of the Prometheus operator. */}}
{{- define "dwatch.monitors"}}
{{- if or (eq (toString .enabled) "true") (and (eq (toString .enabled) "auto") (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)))}}true{{end}}
{{- end}}
