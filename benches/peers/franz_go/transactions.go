package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transactions commits transactions one after the other, and returns the microseconds of each, from
// its begin to the end of its commit.
func transactions(arguments []string) (any, error) {
	bootstrap, topic, id := arguments[0], arguments[1], arguments[2]
	parsed, err := numbers(arguments[3:]...)
	if err != nil {
		return nil, err
	}
	size, records, warm, count := parsed[0], parsed[1], parsed[2], parsed[3]
	client, err := kgo.NewClient(
		seeds(bootstrap), kgo.DefaultProduceTopic(topic), kgo.TransactionalID(id), kgo.ProducerLinger(0),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx := context.Background()
	took := make([]int64, 0, count)
	for n := -warm; n < count; n++ {
		began := time.Now()
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
		for range records {
			client.Produce(ctx, &kgo.Record{Value: make([]byte, size)}, nil)
		}
		if err := client.Flush(ctx); err != nil {
			return nil, err
		}
		if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return nil, err
		}
		if n >= 0 {
			took = append(took, time.Since(began).Microseconds())
		}
	}
	return took, nil
}
