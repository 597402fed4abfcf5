package main

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type ages struct {
	Micros     []int64 `json:"micros"`
	CPUSeconds float64 `json:"cpu_seconds"`
}

// age reads new records, sleeps after each poll to simulate an application's work, and returns the age
// of each record at the return of its poll. Values begin with nanoseconds since 1970.
func age(arguments []string) (any, error) {
	bootstrap, topic := arguments[0], arguments[1]
	parsed, err := numbers(arguments[2:]...)
	if err != nil {
		return nil, err
	}
	fromEnd := readPartitions(topic, parsed[0], kgo.NewOffset().AtEnd())
	client, err := kgo.NewClient(seeds(bootstrap), fromEnd)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	work := time.Duration(parsed[3]) * time.Millisecond
	measured := ages{Micros: []int64{}}
	if err := pollFor(client, seconds(parsed[1]), work, &ages{}); err != nil {
		return nil, err
	}
	watch := start()
	err = pollFor(client, seconds(parsed[2]), work, &measured)
	measured.CPUSeconds = watch.stop(0).CPUSeconds
	return measured, err
}

func pollFor(client *kgo.Client, duration, work time.Duration, into *ages) error {
	end := time.Now().Add(duration)
	for time.Now().Before(end) {
		fetches := client.PollFetches(context.Background())
		now := time.Now().UnixNano()
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			sent := int64(binary.BigEndian.Uint64(record.Value))
			into.Micros = append(into.Micros, (now-sent)/1000)
		})
		time.Sleep(work)
	}
	return nil
}

func seconds(count int) time.Duration {
	return time.Duration(count) * time.Second
}
