{{- /* The default name of all objects. */}}
{{- define "dwatch.name"}}{{.Values.fullnameOverride | default .Release.Name}}{{end}}

{{- define "dwatch.account"}}{{.Values.serviceAccount.name | default (include "dwatch.name" .)}}{{end}}

{{- /* A map as a YAML flow mapping on one line. */}}
{{- define "dwatch.flow"}}{ {{- $comma := ""}}{{range $key, $value := .}}{{$comma}}{{quote $key}}: {{quote $value}}{{$comma = ", "}}{{end -}} }{{end}}

{{- /* dwatch.leads is "true" if the replicas elect a leader. dwatch.shards is the number of shards. Otherwise they are empty. */}}
{{- define "dwatch.leads"}}{{range .Values.args}}{{if hasPrefix "--lease=" .}}true{{end}}{{end}}{{end}}
{{- define "dwatch.shards"}}{{range .Values.args}}{{if hasPrefix "--shard=auto/" .}}{{trimPrefix "--shard=auto/" .}}{{end}}{{end}}{{end}}

{{- /* The labels that select the pods. */}}
{{- define "dwatch.selector"}}
{{- include "dwatch.flow" (dict "app.kubernetes.io/name" "dwatch" "app.kubernetes.io/instance" (include "dwatch.name" .))}}
{{- end}}

{{- /* The labels of an object: the selector's, its own and the common labels. */}}
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

{{- /* "true" if an object of the Prometheus operator is enabled: always, or with "auto" if the server has its type. */}}
{{- define "dwatch.monitors"}}
{{- if or (eq (toString .enabled) "true") (and (eq (toString .enabled) "auto") (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)))}}true{{end}}
{{- end}}
