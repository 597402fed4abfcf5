package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// settle is long enough for the consumer to look up the end of the partition.
const settle = time.Second

// latencies are microseconds: of each measured record, and of CPU for one.
type latencies struct {
	Micros []float64 `json:"micros"`
	CPU    float64   `json:"cpu"`
}

// schedule says when records are due.
type schedule struct {
	total int
	pause time.Duration
}

// latency measures records of an even pace: "one-by-one", each after the one before it was acknowledged;
// "acknowledged", when they are due; or "end-to-end", until a poll returns them.
func latency(arguments []string) (any, error) {
	how, bootstrap, topic := arguments[0], arguments[1], arguments[2]
	parsed, err := numbers(arguments[3:]...)
	if err != nil {
		return nil, err
	}
	bytes, warm, count := parsed[0], parsed[1], parsed[2]
	at := schedule{warm + count, time.Duration(parsed[3])}
	watch := start()
	var took []time.Duration
	switch how {
	case "one-by-one":
		took, err = oneByOne(bootstrap, topic, bytes, at)
	case "acknowledged":
		took, err = acknowledged(bootstrap, topic, bytes, at)
	default:
		took, err = endToEnd(bootstrap, topic, bytes, at)
	}
	if err != nil {
		return nil, err
	}
	cpu := watch.stop(0).CPUSeconds
	found := latencies{CPU: cpu * 1e6 / float64(at.total)}
	for _, each := range took[warm:] {
		found.Micros = append(found.Micros, float64(each)/float64(time.Microsecond))
	}
	return found, nil
}

// run calls send when each record is due, with the time from which it is measured.
func (s schedule) run(send func(number int, began time.Time) error) error {
	due := time.Now()
	for number := range s.total {
		due = due.Add(s.pause)
		began := due
		if left := time.Until(due); left > 0 {
			time.Sleep(left)
			began = time.Now()
		}
		if err := send(number, began); err != nil {
			return err
		}
	}
	return nil
}

func immediately(bootstrap string, options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, seeds(bootstrap), kgo.ProducerLinger(0))...)
}

func oneByOne(bootstrap, topic string, bytes int, at schedule) ([]time.Duration, error) {
	client, err := immediately(bootstrap)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	value, took := make([]byte, bytes), make([]time.Duration, at.total)
	write := func() error {
		return client.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: value}).FirstErr()
	}
	if err := write(); err != nil {
		return nil, err
	}
	return took, at.run(func(number int, began time.Time) error {
		err := write()
		took[number] = time.Since(began)
		return err
	})
}

func acknowledged(bootstrap, topic string, bytes int, at schedule) ([]time.Duration, error) {
	client, err := immediately(bootstrap)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	value, took := make([]byte, bytes), make([]time.Duration, at.total)
	var failure atomic.Pointer[error]
	err = at.run(func(number int, began time.Time) error {
		client.Produce(context.Background(), &kgo.Record{Topic: topic, Value: value}, func(_ *kgo.Record, err error) {
			took[number] = time.Since(began)
			if err != nil {
				failure.CompareAndSwap(nil, &err)
			}
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := client.Flush(context.Background()); err != nil {
		return nil, err
	}
	if failure := failure.Load(); failure != nil {
		return nil, fmt.Errorf("not delivered: %w", *failure)
	}
	return took, nil
}

func endToEnd(bootstrap, topic string, bytes int, at schedule) ([]time.Duration, error) {
	client, err := immediately(bootstrap, readPartitions(topic, 1, kgo.NewOffset().AtEnd()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	began, took := make([]time.Time, at.total), make([]time.Duration, at.total)
	failed := make(chan error, 1)
	go func() {
		time.Sleep(settle)
		failed <- at.run(func(number int, since time.Time) error {
			began[number] = since
			value := make([]byte, bytes)
			binary.BigEndian.PutUint32(value, uint32(number))
			client.Produce(context.Background(), &kgo.Record{Topic: topic, Value: value}, nil)
			return nil
		})
	}()
	for last := -1; last+1 < at.total; {
		fetches := client.PollFetches(context.Background())
		now := time.Now()
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			last = int(binary.BigEndian.Uint32(record.Value))
			took[last] = now.Sub(began[last])
		})
	}
	return took, <-failed
}
