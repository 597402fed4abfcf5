// What Avro's own reader makes of data of other writers' schemas, one JSON line each:
//   {"name", "reader", "writer", "compatible", "payloads": [hex],
//    "results": [value, in the notation of Notation, or {"error"}]}
// First the cases of CASES, then seeded random ones (ReaderSchemas, Evolution, Values). Those whose payloads are
// random have a truncated one at the end.
// Run: javac -d CLASSES -cp '<oracle jars>/*' tests/java/avro/*.java
//      java -cp 'CLASSES:<oracle jars>/*' AvroResolution OUT tests/java/avro/cases.json [PAIRS]

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;

public final class AvroResolution {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODE = JsonNodeFactory.instance;
    private static final HexFormat HEX = HexFormat.of();
    private static final int VALUES = 4;

    private AvroResolution() { }

    private static JsonNode decode(Schema writer, Schema reader, byte[] payload) {
        try {
            // A stream, because Avro 1.12.2 compares the bytes that are left in an array with the size of the items of
            // the reader, and refuses a block of ints that become doubles.
            InputStream stream = new ByteArrayInputStream(payload);
            Object value = new GenericDatumReader<>(writer, reader)
                .read(null, DecoderFactory.get().directBinaryDecoder(stream, null));
            return Notation.of(reader, value);
        } catch (IOException | RuntimeException error) {
            return NODE.objectNode().put("error", String.valueOf(error.getMessage()));
        }
    }

    private static Schema schema(String text) {
        // As Confluent's deserializer and Spark parse a schema that is registered already.
        return new Schema.Parser().setValidateDefaults(false).parse(text);
    }

    private static boolean isCompatible(Schema reader, Schema writer) {
        try {
            return SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getType()
                == SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE;
        } catch (AvroRuntimeException error) {
            // A field and its alias are both in the writer's record. Confluent's registry refuses such a schema.
            return false;
        }
    }

    private static ObjectNode line(Dice dice, String name, String reader, String writer, List<String> raw) throws IOException {
        Schema expected = schema(reader);
        Schema actual = schema(writer);
        Values values = new Values(dice);
        List<byte[]> payloads = new ArrayList<>();
        for (String hex : raw) {
            payloads.add(HEX.parseHex(hex));
        }
        for (int i = raw.isEmpty() ? VALUES : 0; i > 0; i--) {
            payloads.add(values.encode(actual, values.value(actual, 0)));
        }
        byte[] last = payloads.get(payloads.size() - 1);
        if (raw.isEmpty() && last.length > 0) {
            payloads.add(Arrays.copyOf(last, dice.below(last.length)));
        }
        ObjectNode line = NODE.objectNode().put("name", name);
        line.set("reader", JSON.readTree(reader));
        line.set("writer", JSON.readTree(writer));
        line.put("compatible", isCompatible(expected, actual));
        ArrayNode encoded = line.putArray("payloads");
        ArrayNode results = line.putArray("results");
        for (byte[] payload : payloads) {
            encoded.add(HEX.formatHex(payload));
            results.add(decode(actual, expected, payload));
        }
        return line;
    }

    private static ObjectNode randomLine(int seed, int number) throws IOException {
        Dice dice = new Dice(seed);
        ReaderSchemas readers = new ReaderSchemas(dice);
        JsonNode reader = readers.schema();
        Evolution evolution = new Evolution(dice, readers);
        JsonNode writer = evolution.writer(reader);
        return line(dice, "random " + number, evolution.text(reader, false), evolution.text(writer, true), List.of());
    }

    private static ObjectNode caseLine(JsonNode of) throws IOException {
        String name = of.get("name").textValue();
        List<String> payloads = new ArrayList<>();
        of.path("payloads").forEach(payload -> payloads.add(payload.textValue()));
        try {
            Dice dice = new Dice(name.hashCode());
            return line(dice, name, of.get("reader").toString(), of.get("writer").toString(), payloads);
        } catch (RuntimeException error) {
            throw new IllegalArgumentException(name, error);
        }
    }

    public static void main(String[] args) throws IOException {
        int pairs = args.length > 2 ? Integer.parseInt(args[2]) : 2000;
        int unusable = 0;
        try (BufferedWriter out = Files.newBufferedWriter(Path.of(args[0]))) {
            for (JsonNode of : JSON.readTree(Path.of(args[1]).toFile())) {
                out.write(caseLine(of) + "\n");
            }
            for (int seed = 0, made = 0; made < pairs; seed++) {
                try {
                    out.write(randomLine(seed, made) + "\n");
                    made++;
                } catch (AvroRuntimeException error) {
                    // A reference to a type that evolution removed.
                    if (++unusable > pairs) {
                        throw error;
                    }
                }
            }
        }
    }
}
