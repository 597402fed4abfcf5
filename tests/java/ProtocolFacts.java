// Facts of Kafka's Java client that no schema contains; one command per run:
//   errors OUT        the whole Errors enum as a JSON array
//   murmur2 OUT [N]   N seeded random keys with their hash, a number of partitions, and the default
//                     partitioner's choice, one JSON line each
// Run: java -cp '<oracle jars>/*' tests/java/ProtocolFacts.java errors|murmur2 OUT

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Random;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Utils;

public final class ProtocolFacts {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws IOException {
        Path out = Path.of(args[1]);
        switch (args[0]) {
            case "errors" -> writeErrors(out);
            case "murmur2" -> writeMurmur2(out, args.length > 2 ? Integer.parseInt(args[2]) : 100_000);
            default -> throw new IllegalArgumentException("unknown command " + args[0]);
        }
    }

    private static void writeErrors(Path out) throws IOException {
        ArrayNode errors = JSON.createArrayNode();
        for (Errors error : Errors.values()) {
            ObjectNode row = errors.addObject();
            row.put("code", error.code());
            row.put("name", error.name());
            row.put("message", error.message());
            row.put("retriable", error.exception() instanceof RetriableException);
            row.put("refreshesMetadata", error.exception() instanceof InvalidMetadataException);
        }
        JSON.writerWithDefaultPrettyPrinter().writeValue(out.toFile(), errors);
    }

    private static void writeMurmur2(Path out, int keys) throws IOException {
        Random random = new Random(2);
        try (BufferedWriter writer = Files.newBufferedWriter(out)) {
            for (int i = 0; i < keys; i++) {
                // Cycles through short lengths: the hash treats the last one to three bytes separately.
                byte[] key = new byte[i < 64 ? i : random.nextInt(80)];
                random.nextBytes(key);
                int hash = Utils.murmur2(key);
                ObjectNode row = JSON.createObjectNode();
                row.put("key", HexFormat.of().formatHex(key));
                row.put("murmur2", hash);
                row.put("positive", Utils.toPositive(hash));
                int count = 1 + random.nextInt(2000);
                row.put("count", count);
                row.put("partition", BuiltInPartitioner.partitionForKey(key, count));
                writer.write(JSON.writeValueAsString(row));
                writer.newLine();
            }
        }
    }
}
