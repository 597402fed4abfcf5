// franz_go runs one call of franz-go once, with default options, for benches/peers and tests/gateway.
//
//	franz_go produce BOOTSTRAP WARM_TOPIC TOPIC BYTES RECORDS CODEC
//	franz_go consume BOOTSTRAP TOPIC PARTITIONS RECORDS BYTES
//	franz_go age     BOOTSTRAP TOPIC PARTITIONS WARM_SECONDS SECONDS WORK_MS
//	franz_go latency one-by-one|acknowledged|end-to-end BOOTSTRAP TOPIC BYTES WARM COUNT NANOSECONDS
//	franz_go transactions BOOTSTRAP TOPIC ID BYTES RECORDS WARM COUNT
//	franz_go write   BOOTSTRAP TOPIC
//	franz_go read    BOOTSTRAP TOPIC GROUP RECORDS
//
// The last line of standard output is the result as JSON. A run that fails prints the reason on
// standard error and exits with 1.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// warmRecords is the number of records each client sends or reads before its run is measured.
const warmRecords = 20_000

type command struct {
	arguments int
	run       func([]string) (any, error)
}

var commands = map[string]command{
	"produce": {6, produce},
	"consume": {5, consume},
	"age":     {6, age},

	"latency":      {7, latency},
	"transactions": {7, transactions},
	"write":        {2, writeLines},
	"read":         {4, readLines},
}

// runResult is the result of produce and consume.
type runResult struct {
	Records    int     `json:"records"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
}

// stopwatch measures wall time and the CPU time of the process.
type stopwatch struct {
	wall time.Time
	cpu  time.Duration
}

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runCommand(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("expected a command: produce, consume, age, latency, transactions, write or read")
	}
	command, known := commands[arguments[0]]
	if !known || len(arguments)-1 != command.arguments {
		return fmt.Errorf("unknown command or wrong arguments: %q", arguments)
	}
	result, err := command.run(arguments[1:])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func start() stopwatch {
	return stopwatch{time.Now(), cpuTime()}
}

func (s stopwatch) stop(records int) runResult {
	return runResult{records, time.Since(s.wall).Seconds(), (cpuTime() - s.cpu).Seconds()}
}

// cpuTime is the user and system time of all threads.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func seeds(bootstrap string) kgo.Opt {
	return kgo.SeedBrokers(strings.Split(bootstrap, ",")...)
}

// readPartitions assigns partitions 0 to count-1 of a topic, read from the given position.
func readPartitions(topic string, count int, from kgo.Offset) kgo.Opt {
	offsets := map[int32]kgo.Offset{}
	for partition := range int32(count) {
		offsets[partition] = from
	}
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets})
}

// numbers parses decimal arguments.
func numbers(arguments ...string) ([]int, error) {
	parsed := make([]int, len(arguments))
	for i, argument := range arguments {
		number, err := strconv.Atoi(argument)
		if err != nil {
			return nil, err
		}
		parsed[i] = number
	}
	return parsed, nil
}
