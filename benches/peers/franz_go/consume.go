package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// consume measures from before the client is created to the last record.
func consume(arguments []string) (any, error) {
	bootstrap, topic := arguments[0], arguments[1]
	parsed, err := numbers(arguments[2:]...)
	if err != nil {
		return nil, err
	}
	partitions, count, size := parsed[0], parsed[1], parsed[2]
	if _, _, err := read(bootstrap, topic, partitions, min(warmRecords, count)); err != nil {
		return nil, err
	}
	result, bytes, err := read(bootstrap, topic, partitions, count)
	if err != nil {
		return nil, err
	}
	if result.Records != count || bytes != count*size {
		return nil, fmt.Errorf("%d records with %d bytes", result.Records, bytes)
	}
	return result, nil
}

// read polls until at least count records have arrived.
func read(bootstrap, topic string, partitions, count int) (runResult, int, error) {
	watch := start()
	fromStart := readPartitions(topic, partitions, kgo.NewOffset().AtStart())
	client, err := kgo.NewClient(seeds(bootstrap), fromStart)
	if err != nil {
		return runResult{}, 0, err
	}
	defer client.Close()
	received, bytes := 0, 0
	for received < count {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return runResult{}, 0, err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			received++
			bytes += len(record.Value)
		})
	}
	return watch.stop(received), bytes, nil
}
