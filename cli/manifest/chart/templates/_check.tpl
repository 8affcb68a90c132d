{{- /* What no schema can say. */}}
{{- define "dwatch.check"}}
{{- if not (or .Values.args .Values.rules)}}{{fail "say what runs: args, or rules; dwatch manifests COMMAND... --helm-values prints them for a command line"}}{{end}}
{{- if not .Values.image.repository}}{{fail "say where the image of dwatch is: image.repository"}}{{end}}
{{- if gt (int .Values.replicas) 1}}
{{- $leads := false}}
{{- range .Values.args}}{{if hasPrefix "--lease=" .}}{{$leads = true}}{{end}}{{end}}
{{- if not $leads}}{{fail "replicas would each report all of it: args need --lease=NAME, and rbac.roles the right to that Lease"}}{{end}}
{{- end}}
{{- $listen := printf ":%d" (int .Values.ports.metrics)}}
{{- $listens := not .Values.args}}
{{- range .Values.args}}{{if and (hasPrefix "--listen=" .) (hasSuffix $listen .)}}{{$listens = true}}{{end}}{{end}}
{{- if not $listens}}{{fail (printf "the probes ask port %d (ports.metrics): args need --listen=%s" (int .Values.ports.metrics) $listen)}}{{end}}
{{- end}}

{{- define "dwatch.image"}}
{{- .repository}}{{with .tag}}:{{.}}{{end}}{{with .digest}}@{{.}}{{end}}
{{- end}}
