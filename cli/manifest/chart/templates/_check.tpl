{{- /* Checks that a JSON schema can't express. */}}
{{- define "dwatch.check"}}
{{- if not (or .Values.args .Values.rules)}}{{fail "set args or rules: dwatch manifests COMMAND... --helm-values prints them for a command line"}}{{end}}
{{- if not .Values.image.repository}}{{fail "set image.repository to the image of dwatch"}}{{end}}
{{- if gt (int .Values.replicas) 1}}
{{- if not (or (include "dwatch.leads" .) (include "dwatch.shards" .))}}{{fail "each replica would report all events: add --lease=NAME to args and permission for that Lease to rbac.roles, or add --shard=auto/N to args"}}{{end}}
{{- if and .Values.persistence.enabled (not .Values.persistence.perPod) (not .Values.persistence.existingClaim) (not (has "ReadWriteMany" .Values.persistence.accessModes))}}
{{- fail "the replicas share a volume, but persistence.accessModes let only one node mount it: add ReadWriteMany, or set persistence.perPod"}}
{{- end}}
{{- end}}
{{- with include "dwatch.shards" .}}
{{- if lt (int $.Values.replicas) (int .)}}{{fail (printf "--shard=auto/%s needs a replica for each shard: set replicas to %s, or to more while you reduce the number of shards" . .)}}{{end}}
{{- end}}
{{- if and .Values.persistence.perPod .Values.persistence.existingClaim}}{{fail "persistence.existingClaim is one volume for all pods, but persistence.perPod makes one for each: set only one of them"}}{{end}}
{{- $top := .}}
{{- range $i, $role := .Values.rbac.roles}}
{{- range $j, $other := $top.Values.rbac.roles}}
{{- $name := $role.name | default (include "dwatch.name" $top)}}
{{- if and (lt $j $i) (eq $name ($other.name | default (include "dwatch.name" $top))) (eq ($role.namespace | default "") ($other.namespace | default ""))}}
{{- fail (printf "two of rbac.roles have the name %s: set a different name for each" $name)}}
{{- end}}
{{- end}}
{{- end}}
{{- $listen := printf ":%d" (int .Values.ports.metrics)}}
{{- $listens := not .Values.args}}
{{- range .Values.args}}{{if and (hasPrefix "--listen=" .) (hasSuffix $listen .) (not (or (hasPrefix "--listen=127." .) (hasPrefix "--listen=localhost:" .) (hasPrefix "--listen=[::1]:" .)))}}{{$listens = true}}{{end}}{{end}}
{{- if not $listens}}{{fail (printf "the probes use port %d (ports.metrics): add --listen=%s to args" (int .Values.ports.metrics) $listen)}}{{end}}
{{- end}}

{{- define "dwatch.image"}}
{{- .repository}}{{with .tag}}:{{.}}{{end}}{{with .digest}}@{{.}}{{end}}
{{- end}}
