// Gets a token as Kafka's own client does, from a properties file: RetrieveToken CLASS FILE
// prints the token. The endpoint and the files are allowed by system properties, as Kafka demands.

import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.security.oauthbearer.JwtRetriever;

public class RetrieveToken {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(arguments[1]))) {
            properties.load(reader);
        }
        Map<String, String> texts = new HashMap<>();
        properties.forEach((name, value) -> texts.put((String) name, (String) value));
        ConfigDef definition = new ConfigDef();
        SaslConfigs.addClientSaslSupport(definition);
        Map<String, ?> values = new AbstractConfig(definition, texts, false).values();
        AppConfigurationEntry entry = new AppConfigurationEntry(
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
                LoginModuleControlFlag.REQUIRED,
                Map.of());
        Object created = Class.forName(arguments[0]).getDeclaredConstructor().newInstance();
        try (JwtRetriever retriever = (JwtRetriever) created) {
            retriever.configure(values, "OAUTHBEARER", List.of(entry));
            System.out.println(retriever.retrieve());
        }
    }
}
