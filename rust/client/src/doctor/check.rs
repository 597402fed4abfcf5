//! What is checked, and why a check fails: the words that programs know them by.

/// An enum whose variants have names.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$meaning:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[$meaning])* $variant,)* }

        impl $kind {
            /// The name, as people and programs see it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// What was checked, in the order in which a client meets it.
    Check {
        /// Resolving the name.
        Dns = "DNS",
        /// Connecting.
        Tcp = "TCP",
        /// The TLS handshake.
        Tls = "TLS",
        /// Asking for versions: does a Kafka broker listen here?
        ApiVersions = "ApiVersions",
        /// Authenticating.
        Sasl = "SASL",
        /// Asking for the cluster.
        Metadata = "Metadata",
        /// Asking the broker for its own id.
        Identity = "Identity",
        /// Sending a request that is larger than a packet, and receiving such a response.
        LargeRequest = "LargeRequest",
        /// Asking the broker for the space on its disks.
        DescribeLogDirs = "DescribeLogDirs",
        /// Asking for the quorum of KRaft controllers.
        DescribeQuorum = "DescribeQuorum",
        /// Asking a leader where its partition starts and ends.
        ListOffsets = "ListOffsets",
        /// Fetching from a leader.
        Fetch = "Fetch",
        /// Asking who coordinates a group.
        FindCoordinator = "FindCoordinator",
        /// Asking the coordinator about the group.
        DescribeGroups = "DescribeGroups",
    }
}

named! {
    /// Why a check failed.
    Reason {
        /// The name is not known, or the resolver does not answer.
        Unresolved = "unresolved",
        /// Nothing listens there, or something in between refuses.
        Refused = "refused",
        /// No answer in time.
        TimedOut = "timed_out",
        /// There is no route.
        Unreachable = "unreachable",
        /// The connection was ended by the other side.
        Closed = "closed",
        /// What listens speaks TLS, and plaintext was configured.
        SpeaksTls = "speaks_tls",
        /// What listens speaks Kafka in plaintext, and TLS was configured.
        SpeaksPlaintext = "speaks_plaintext",
        /// What listens speaks HTTP.
        SpeaksHttp = "speaks_http",
        /// What listens speaks SSH.
        SpeaksSsh = "speaks_ssh",
        /// What listens speaks something else.
        NotKafka = "not_kafka",
        /// The listener wants SASL, and none was configured.
        WantsSasl = "wants_sasl",
        /// SASL was configured, and the listener has none.
        WithoutSasl = "without_sasl",
        /// The broker's certificate was not accepted, for a reason without a name of its own.
        Certificate = "certificate",
        /// The broker's certificate has expired.
        CertificateExpired = "certificate_expired",
        /// The broker's certificate is not valid yet.
        CertificateNotYetValid = "certificate_not_yet_valid",
        /// The broker's certificate is for other host names.
        CertificateName = "certificate_name",
        /// The issuer of the broker's certificate is not trusted.
        CertificateIssuer = "certificate_issuer",
        /// The broker's certificate is not one for servers.
        CertificatePurpose = "certificate_purpose",
        /// The broker's certificate was revoked.
        CertificateRevoked = "certificate_revoked",
        /// The broker requires a client certificate, and none is configured.
        ClientCertificateMissing = "client_certificate_missing",
        /// The broker refused the client certificate.
        ClientCertificateRefused = "client_certificate_refused",
        /// No version of TLS is accepted by both sides.
        TlsVersion = "tls_version",
        /// No cipher suite is accepted by both sides.
        TlsCipher = "tls_cipher",
        /// The broker does not know the requested host name.
        TlsServerName = "tls_server_name",
        /// The listener is a KRaft controller's.
        ControllerPort = "controller_port",
        /// Small requests get through, large ones do not.
        LargeRequestsLost = "large_requests_lost",
        /// The mechanism is not offered.
        Mechanism = "mechanism",
        /// There is no token to show: the endpoint or the application gave none.
        NoToken = "no_token",
        /// There is no Kerberos ticket for the broker.
        NoTicket = "no_ticket",
        /// The credentials were refused.
        Credentials = "credentials",
        /// Another broker answered than the one that was expected.
        AnotherBroker = "another_broker",
        /// The broker answered with an error code.
        Code = "code",
        /// The doctor's own time was over before this could be looked at.
        OutOfTime = "out_of_time",
        /// Anything else.
        Other = "other",
    }
}
