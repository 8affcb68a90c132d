package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dwatch/output/deliver/cloudevent"
)

// minSecret and maxSecret limit the size of a secret in bytes, as in the Standard Webhooks specification.
const minSecret, maxSecret = 24, 64

const secretPrefix = "whsec_"

// parseSecrets parses one or several signing secrets, which are separated by white space.
func parseSecrets(text string) ([][]byte, error) {
	var secrets [][]byte
	for i, word := range strings.Fields(text) {
		encoded, ok := strings.CutPrefix(word, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(encoded)
		switch {
		case !ok, err != nil:
			return nil, fmt.Errorf("secret %d is not %s followed by base64, as `echo %[2]s$(openssl rand -base64 24)` makes it", i+1, secretPrefix)
		case len(secret) < minSecret, len(secret) > maxSecret:
			return nil, fmt.Errorf("secret %d has %d bytes, want %d to %d", i+1, len(secret), minSecret, maxSecret)
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, errors.New("it contains no secret")
	}
	return secrets, nil
}

// sign adds the headers of the Standard Webhooks specification to a request, with one signature for each secret.
func sign(header http.Header, secrets [][]byte, id string, now time.Time, body []byte) {
	// The specification allows no full stop in an id, because full stops separate the signed parts.
	id = strings.ReplaceAll(cloudevent.EscapeHeader(cloudevent.ToValidUTF8(id)), ".", "%2E")
	at := strconv.FormatInt(now.Unix(), 10)
	var signatures []string
	for _, secret := range secrets {
		signatures = append(signatures, signature(secret, id, at, body))
	}
	header["Webhook-Id"] = []string{id}
	header["Webhook-Timestamp"] = []string{at}
	header["Webhook-Signature"] = []string{strings.Join(signatures, " ")}
}

func signature(secret []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, id+"."+at+".") // writing to a hash cannot fail
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
