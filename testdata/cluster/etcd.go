package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdServer is an etcd of one member inside this process.
type etcdServer struct{ *embed.Etcd }

// startEtcd starts etcd on the files in dir, on free ports of loopback, and
// returns once it serves, or fails when ctx ends before.
func startEtcd(ctx context.Context, dir string) (*etcdServer, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	started, err := embed.StartEtcd(etcdConfig(dir))
	if err != nil {
		return nil, fmt.Errorf("cannot start etcd: %w", err)
	}
	server := &etcdServer{started}
	select {
	case <-server.Server.ReadyNotify():
		return server, nil
	case err = <-server.Err():
	case <-ctx.Done():
		err = fmt.Errorf("it is not ready in time: %w", ctx.Err())
	}
	stopping.Store(true)
	server.stop() // before its files go
	return nil, fmt.Errorf("cannot start etcd: %w", err)
}

// etcdConfig trades durability on a power cut, which no test needs, for speed.
// A killed process still loses nothing: its writes are with the kernel.
func etcdConfig(dir string) *embed.Config {
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config := embed.NewConfig()
	config.Dir = dir
	config.ListenClientUrls = anyPort
	config.AdvertiseClientUrls = anyPort
	config.ListenPeerUrls = anyPort
	config.AdvertisePeerUrls = anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger())
	config.EnableGRPCGateway = false           // it would dial the advertised port, which is not real
	config.TickMs, config.ElectionMs = 50, 250 // alone, it need not wait for votes; each tick costs
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = 8 << 30 // room for long churns between compactions
	return config
}

// endpoint returns the URL at which clients reach etcd.
func (e *etcdServer) endpoint() string {
	return "http://" + e.Clients[0].Addr().String()
}

// create writes all values whose keys are not there, at once.
func (e *etcdServer) create(ctx context.Context, values map[string][]byte) error {
	var all pb.TxnRequest
	for key, value := range values {
		one := &pb.TxnRequest{
			Compare: []*pb.Compare{{Key: []byte(key), Target: pb.Compare_CREATE, TargetUnion: &pb.Compare_CreateRevision{}}},
			Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: value}}}},
		}
		all.Success = append(all.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: one}})
	}
	_, err := e.Server.Txn(ctx, &all)
	return err
}

// stop writes out the data and ends etcd, within bounds: it does not wait for
// clients to hang up, as an orderly Close would.
func (e *etcdServer) stop() {
	stopped := make(chan struct{})
	go func() {
		e.Server.HardStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(stopEtcdTimeout):
	}
}
