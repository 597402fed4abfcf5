package main

import (
	"context"
	"fmt"
	"math/rand"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

const distinct = 10_000

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

// deliveries counts acknowledged records and keeps the first failure.
type deliveries struct {
	acknowledged atomic.Int64
	failure      atomic.Pointer[error]
}

func (d *deliveries) report(_ *kgo.Record, err error) {
	if err != nil {
		d.failure.CompareAndSwap(nil, &err)
		return
	}
	d.acknowledged.Add(1)
}

// produce measures from the first record to the last acknowledgement.
func produce(arguments []string) (any, error) {
	bootstrap, warmTopic, topic, codec := arguments[0], arguments[1], arguments[2], arguments[5]
	parsed, err := numbers(arguments[3], arguments[4])
	if err != nil {
		return nil, err
	}
	compression, known := codecs[codec]
	if !known {
		return nil, fmt.Errorf("unknown codec %s", codec)
	}
	keys, values := records(parsed[0])
	client, err := kgo.NewClient(seeds(bootstrap), kgo.ProducerBatchCompression(compression))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := send(client, warmTopic, keys, values, warmRecords); err != nil {
		return nil, err
	}
	watch := start()
	if err := send(client, topic, keys, values, parsed[1]); err != nil {
		return nil, err
	}
	return watch.stop(parsed[1]), nil
}

func send(client *kgo.Client, topic string, keys, values [][]byte, count int) error {
	var done deliveries
	ctx := context.Background()
	for n := range count {
		record := &kgo.Record{Topic: topic, Key: keys[n%distinct], Value: values[n%distinct]}
		client.Produce(ctx, record, done.report)
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if failure := done.failure.Load(); failure != nil {
		return *failure
	}
	if acknowledged := done.acknowledged.Load(); acknowledged != int64(count) {
		return fmt.Errorf("%d of %d records are acknowledged", acknowledged, count)
	}
	return nil
}

// records returns distinct keys, and values whose second half compresses to almost nothing.
func records(size int) (keys, values [][]byte) {
	source := rand.New(rand.NewSource(int64(size)))
	for n := range distinct {
		value := make([]byte, size)
		source.Read(value[:size/2])
		keys = append(keys, fmt.Appendf(nil, "key-%05d", n))
		values = append(values, value)
	}
	return keys, values
}
