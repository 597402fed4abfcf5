package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// linesTimeout bounds a program that waits for records which do not come.
const linesTimeout = 2 * time.Minute

// written is the result of write and read.
type written struct {
	Records int `json:"records"`
}

// writeLines sends the lines of standard input, key and value separated by a tab.
func writeLines(arguments []string) (any, error) {
	client, err := kgo.NewClient(seeds(arguments[0]), kgo.DefaultProduceTopic(arguments[1]))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	var records []*kgo.Record
	for input.Scan() {
		key, value, _ := bytes.Cut(bytes.Clone(input.Bytes()), []byte("\t"))
		records = append(records, &kgo.Record{Key: key, Value: value})
	}
	if err := input.Err(); err != nil {
		return nil, err
	}
	deadline, cancel := context.WithTimeout(context.Background(), linesTimeout)
	defer cancel()
	return written{len(records)}, client.ProduceSync(deadline, records...).FirstErr()
}

// readLines prints a number of records as writeLines reads them, as a member of a group.
func readLines(arguments []string) (any, error) {
	counts, err := numbers(arguments[3])
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(
		seeds(arguments[0]),
		kgo.ConsumeTopics(arguments[1]),
		kgo.ConsumerGroup(arguments[2]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	deadline, cancel := context.WithTimeout(context.Background(), linesTimeout)
	defer cancel()
	output := bufio.NewWriter(os.Stdout)
	found := 0
	for found < counts[0] {
		fetches := client.PollFetches(deadline)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			output.Write(record.Key)
			output.WriteByte('\t')
			output.Write(record.Value)
			output.WriteByte('\n')
			found++
		}
	}
	if err := output.Flush(); err != nil {
		return nil, err
	}
	return written{found}, client.CommitUncommittedOffsets(deadline)
}
