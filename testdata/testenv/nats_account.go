package testenv

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nkeys"
)

// NATSAccount is an account of a NATS server whose users authenticate with signed JWTs, as those that nsc creates.
type NATSAccount struct {
	// ServerConfig is the part of the server's configuration that declares the account.
	ServerConfig string

	key nkeys.KeyPair
}

// NewNATSAccount creates an account and its operator.
func NewNATSAccount() *NATSAccount {
	operator, system := must(nkeys.CreateOperator()), must(nkeys.CreateAccount())
	a := &NATSAccount{key: must(nkeys.CreateAccount())}
	limits := func(more map[string]any) map[string]any {
		all := map[string]any{"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1}
		for name, value := range more {
			all[name] = value
		}
		return map[string]any{"limits": all}
	}
	stores := map[string]any{"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
	id, systemID := must(a.key.PublicKey()), must(system.PublicKey())
	a.ServerConfig = fmt.Sprintf("operator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %[2]s: %[5]s }\n",
		claim(operator, operator, "operator", map[string]any{}, time.Time{}), systemID,
		id, claim(operator, a.key, "account", limits(stores), time.Time{}), claim(operator, system, "account", limits(nil), time.Time{}))
	return a
}

// Credentials creates a user and returns the content of a file for --nats-creds. The zero expires means never.
func (a *NATSAccount) Credentials(expires time.Time) string {
	user := must(nkeys.CreateUser())
	return "-----BEGIN NATS USER JWT-----\n" + claim(a.key, user, "user", map[string]any{"subs": -1, "data": -1, "payload": -1}, expires) + "\n------END NATS USER JWT------\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + string(must(user.Seed())) + "\n------END USER NKEY SEED------\n"
}

// claim returns a JWT in the format of NATS.
func claim(issuer, subject nkeys.KeyPair, kind string, about map[string]any, expires time.Time) string {
	about["type"], about["version"] = kind, 2
	encode := func(v any) string { return base64.RawURLEncoding.EncodeToString(must(json.Marshal(v))) }
	claims := map[string]any{
		"jti": "1", "iat": time.Now().Unix(), "iss": must(issuer.PublicKey()), "sub": must(subject.PublicKey()), "name": kind, "nats": about,
	}
	if !expires.IsZero() {
		claims["exp"] = expires.Unix()
	}
	text := encode(map[string]string{"typ": "JWT", "alg": "ed25519-nkey"}) + "." + encode(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(must(issuer.Sign([]byte(text))))
}
