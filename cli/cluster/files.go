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

// namedFile is a file that a flag or the kubeconfig names.
type namedFile struct{ by, path string }

// checkFiles refuses a key or certificate file that can't be opened. client-go looks
// at a key only beside a certificate, and its errors don't name the flag.
func (f *Flags) checkFiles(loader clientcmd.ClientConfig) error {
	user, cluster := f.overrides.AuthInfo, f.overrides.ClusterInfo
	files := []namedFile{
		{"--client-certificate", user.ClientCertificate},
		{"--client-key", user.ClientKey},
		{"--certificate-authority", cluster.CertificateAuthority},
	}
	if config, err := loader.RawConfig(); err == nil {
		files = append(files, f.filesOf(config)...)
	}
	for _, file := range files {
		if err := file.check(); err != nil {
			return err
		}
	}
	return nil
}

// filesOf are the files that the kubeconfig names, where no flag has replaced them.
func (f *Flags) filesOf(config clientcmdapi.Config) []namedFile {
	var files []namedFile
	add := func(replaced bool, field, path, owner string) {
		if !replaced {
			files = append(files, namedFile{fmt.Sprintf("kubeconfig: %s of %s:", field, owner), path})
		}
	}
	flags := f.overrides
	chosen := flags.Context
	if c := config.Contexts[cmp.Or(flags.CurrentContext, config.CurrentContext)]; c != nil {
		chosen.AuthInfo = cmp.Or(chosen.AuthInfo, c.AuthInfo)
		chosen.Cluster = cmp.Or(chosen.Cluster, c.Cluster)
	}
	if user := config.AuthInfos[chosen.AuthInfo]; user != nil {
		owner := fmt.Sprintf("user %q", chosen.AuthInfo)
		add(flags.AuthInfo.ClientCertificate != "", "client-certificate", user.ClientCertificate, owner)
		add(flags.AuthInfo.ClientKey != "", "client-key", user.ClientKey, owner)
	}
	if cluster := config.Clusters[chosen.Cluster]; cluster != nil {
		replaced := flags.ClusterInfo.CertificateAuthority != "" || flags.ClusterInfo.InsecureSkipTLSVerify
		add(replaced, "certificate-authority", cluster.CertificateAuthority, fmt.Sprintf("cluster %q", chosen.Cluster))
	}
	return files
}

func (n namedFile) check() error {
	if n.path == "" {
		return nil
	}
	file, err := os.Open(n.path)
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
		return fmt.Errorf("%s %s: %w", n.by, n.path, err)
	}
	return nil
}
