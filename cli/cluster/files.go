package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// checkFiles returns an error if a key or certificate file can't be opened. client-go checks a key only if there is also a
// certificate, and its errors don't name the flag.
func (f *Flags) checkFiles(loader clientcmd.ClientConfig) error {
	flags := f.overrides
	config, _ := loader.RawConfig() // Connect reports errors later
	chosen := flags.Context
	if c := config.Contexts[cmp.Or(flags.CurrentContext, config.CurrentContext)]; c != nil {
		chosen.AuthInfo = cmp.Or(chosen.AuthInfo, c.AuthInfo)
		chosen.Cluster = cmp.Or(chosen.Cluster, c.Cluster)
	}
	user := cmp.Or(config.AuthInfos[chosen.AuthInfo], &clientcmdapi.AuthInfo{})
	authority := ""
	if cluster := config.Clusters[chosen.Cluster]; cluster != nil && !flags.ClusterInfo.InsecureSkipTLSVerify {
		authority = cluster.CertificateAuthority
	}
	owner := fmt.Sprintf("user %q", chosen.AuthInfo)
	return cmp.Or(
		checkFile("client-certificate", flags.AuthInfo.ClientCertificate, user.ClientCertificate, owner),
		checkFile("client-key", flags.AuthInfo.ClientKey, user.ClientKey, owner),
		checkFile("certificate-authority", flags.ClusterInfo.CertificateAuthority, authority, fmt.Sprintf("cluster %q", chosen.Cluster)),
	)
}

// checkFile checks the file of a flag, or if the flag is not given, the file that the kubeconfig has for owner.
func checkFile(flag, flagged, configured, owner string) error {
	by, path := "--"+flag, flagged
	if path == "" {
		by, path = fmt.Sprintf("kubeconfig: %s of %s:", flag, owner), configured
	}
	if path == "" {
		return nil
	}
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		if info, unknown := file.Stat(); unknown == nil && info.IsDir() {
			err = syscall.EISDIR
		}
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // it names the path once more
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", by, path, err)
	}
	return nil
}
