{{- /* What no schema can say. */}}
{{- define "dwatch.check"}}
{{- if not (or .Values.args .Values.rules)}}{{fail "say what runs: args, or rules; dwatch manifests COMMAND... --helm-values prints them for a command line"}}{{end}}
{{- if not .Values.image.repository}}{{fail "say where the image of dwatch is: image.repository"}}{{end}}
{{- if gt (int .Values.replicas) 1}}
{{- if not (or (include "dwatch.leads" .) (include "dwatch.shards" .))}}{{fail "replicas would each report all of it: args need --lease=NAME, and rbac.roles the right to that Lease"}}{{end}}
{{- if and .Values.persistence.enabled (not .Values.persistence.perPod) (not .Values.persistence.existingClaim) (not (has "ReadWriteMany" .Values.persistence.accessModes))}}
{{- fail "the replicas share a volume, which persistence.accessModes let one node have: it takes ReadWriteMany, or persistence.perPod"}}
{{- end}}
{{- end}}
{{- with include "dwatch.shards" .}}
{{- if lt (int $.Values.replicas) (int .)}}{{fail (printf "each replica has one of the shards of --shard=auto/%s: replicas have to be %s, or more while these become fewer" . .)}}{{end}}
{{- end}}
{{- if and .Values.persistence.perPod .Values.persistence.existingClaim}}{{fail "persistence.existingClaim is one volume, and persistence.perPod one for each: take one of them"}}{{end}}
{{- $top := .}}
{{- range $i, $role := .Values.rbac.roles}}
{{- range $j, $other := $top.Values.rbac.roles}}
{{- $name := $role.name | default (include "dwatch.name" $top)}}
{{- if and (lt $j $i) (eq $name ($other.name | default (include "dwatch.name" $top))) (eq ($role.namespace | default "") ($other.namespace | default ""))}}
{{- fail (printf "two of rbac.roles are called %s: give them names" $name)}}
{{- end}}
{{- end}}
{{- end}}
{{- $listen := printf ":%d" (int .Values.ports.metrics)}}
{{- $listens := not .Values.args}}
{{- range .Values.args}}{{if and (hasPrefix "--listen=" .) (hasSuffix $listen .) (not (or (hasPrefix "--listen=127." .) (hasPrefix "--listen=localhost:" .) (hasPrefix "--listen=[::1]:" .)))}}{{$listens = true}}{{end}}{{end}}
{{- if not $listens}}{{fail (printf "the probes ask port %d (ports.metrics): args need --listen=%s" (int .Values.ports.metrics) $listen)}}{{end}}
{{- end}}

{{- define "dwatch.image"}}
{{- .repository}}{{with .tag}}:{{.}}{{end}}{{with .digest}}@{{.}}{{end}}
{{- end}}
