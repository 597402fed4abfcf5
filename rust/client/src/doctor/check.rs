//! The phases of a client, the checks, and the reasons for which they fail, with the names that reports use.

/// An enum whose variants have names.
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$meaning:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $kind { $($(#[$meaning])* $variant,)* }

        impl $kind {
            /// The name in reports.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

named! {
    /// A phase of a client, in their order; the names are those of the findings and exit codes.
    Phase {
        /// Names of bootstrap servers are resolved.
        Dns = "DNS",
        /// Bootstrap servers accept connections.
        Tcp = "TCP",
        /// TLS handshakes succeed.
        Tls = "TLS",
        /// Bootstrap servers speak Kafka.
        ApiVersions = "ApiVersions",
        /// The client authenticates.
        Sasl = "SASL",
        /// The metadata is fetched.
        Metadata = "Metadata",
        /// Brokers work at their advertised addresses.
        Advertised = "Advertised",
        /// Leaders serve their partitions.
        Leaders = "Leaders",
        /// Coordinators serve their groups.
        Coordinators = "Coordinators",
        /// The controllers have a leader.
        Controllers = "Controllers",
    }
}

named! {
    /// A check, in the order in which a client takes these steps.
    Check {
        /// Resolve the name.
        Dns = "DNS",
        /// Connect.
        Tcp = "TCP",
        /// Connect to the server through the proxy.
        Proxy = "Proxy",
        /// The TLS handshake.
        Tls = "TLS",
        /// Negotiate API versions, which shows whether a Kafka broker listens.
        ApiVersions = "ApiVersions",
        /// Authenticate.
        Sasl = "SASL",
        /// Fetch the cluster's metadata.
        Metadata = "Metadata",
        /// Verify the broker's id.
        Identity = "Identity",
        /// Exchange a request and a response that are larger than a packet.
        LargeRequest = "LargeRequest",
        /// Fetch the space on the broker's disks.
        DescribeLogDirs = "DescribeLogDirs",
        /// Fetch the state of the KRaft controllers' quorum.
        DescribeQuorum = "DescribeQuorum",
        /// Fetch the first and the end offset of a partition from its leader.
        ListOffsets = "ListOffsets",
        /// Fetch from a partition's leader.
        Fetch = "Fetch",
        /// Find a group's coordinator.
        FindCoordinator = "FindCoordinator",
        /// Describe the group at its coordinator.
        DescribeGroups = "DescribeGroups",
    }
}

impl Check {
    /// The phase in which a client takes this step; at an advertised address, it is `Phase::Advertised`.
    #[must_use]
    pub fn phase(self) -> Phase {
        match self {
            Self::Dns => Phase::Dns,
            Self::Tcp | Self::Proxy => Phase::Tcp,
            Self::Tls => Phase::Tls,
            Self::ApiVersions => Phase::ApiVersions,
            Self::Sasl => Phase::Sasl,
            Self::Metadata => Phase::Metadata,
            Self::Identity | Self::LargeRequest | Self::DescribeLogDirs => Phase::Advertised,
            Self::ListOffsets | Self::Fetch => Phase::Leaders,
            Self::FindCoordinator | Self::DescribeGroups => Phase::Coordinators,
            Self::DescribeQuorum => Phase::Controllers,
        }
    }
}

named! {
    /// Why a check failed.
    Reason {
        /// The name does not exist, or the resolver does not respond.
        Unresolved = "unresolved",
        /// Nothing listens at the address, or a firewall rejects connections.
        Refused = "refused",
        /// No response in time.
        TimedOut = "timed_out",
        /// There is no route to the address.
        Unreachable = "unreachable",
        /// The peer closed the connection.
        Closed = "closed",
        /// The proxy's name cannot be resolved, or it cannot be connected to.
        ProxyUnreachable = "proxy_unreachable",
        /// The proxy asks for a user and a password, or rejects them.
        ProxyCredentials = "proxy_credentials",
        /// The proxy does not allow the connection.
        ProxyRefused = "proxy_refused",
        /// The proxy cannot connect to the server.
        ProxyCannotConnect = "proxy_cannot_connect",
        /// The proxy does not speak the configured protocol.
        NotAProxy = "not_a_proxy",
        /// The port speaks TLS, and plaintext is configured.
        SpeaksTls = "speaks_tls",
        /// The port speaks Kafka in plaintext, and TLS is configured.
        SpeaksPlaintext = "speaks_plaintext",
        /// The port speaks HTTP.
        SpeaksHttp = "speaks_http",
        /// The port speaks SSH.
        SpeaksSsh = "speaks_ssh",
        /// The port speaks another protocol.
        NotKafka = "not_kafka",
        /// The listener requires SASL, and none is configured.
        WantsSasl = "wants_sasl",
        /// SASL is configured, and the listener does not use it.
        WithoutSasl = "without_sasl",
        /// The broker's certificate was rejected, for a reason that has no variant of its own.
        Certificate = "certificate",
        /// The broker's certificate has expired.
        CertificateExpired = "certificate_expired",
        /// The broker's certificate is not valid yet.
        CertificateNotYetValid = "certificate_not_yet_valid",
        /// The broker's certificate is for other host names.
        CertificateName = "certificate_name",
        /// The issuer of the broker's certificate is not trusted.
        CertificateIssuer = "certificate_issuer",
        /// The broker's certificate is not meant for servers.
        CertificatePurpose = "certificate_purpose",
        /// The broker's certificate was revoked.
        CertificateRevoked = "certificate_revoked",
        /// The broker requires a client certificate, and none is configured.
        ClientCertificateMissing = "client_certificate_missing",
        /// The broker rejected the client certificate.
        ClientCertificateRejected = "client_certificate_refused",
        /// No version of TLS is accepted by both sides.
        TlsVersion = "tls_version",
        /// No cipher suite is accepted by both sides.
        TlsCipher = "tls_cipher",
        /// The broker does not know the requested host name.
        TlsServerName = "tls_server_name",
        /// The listener belongs to a KRaft controller.
        ControllerPort = "controller_port",
        /// Small requests get a response, large ones do not.
        LargeRequestsLost = "large_requests_lost",
        /// The listener does not offer the mechanism.
        Mechanism = "mechanism",
        /// There is no token: neither the endpoint nor the application returned one.
        NoToken = "no_token",
        /// There is no Kerberos ticket for the broker.
        NoTicket = "no_ticket",
        /// The broker rejected the credentials.
        Credentials = "credentials",
        /// Another broker than the expected one responded.
        AnotherBroker = "another_broker",
        /// The broker returned an error code.
        Code = "code",
        /// The doctor's own timeout ended before the check was made or completed.
        OutOfTime = "out_of_time",
        /// Any other reason.
        Other = "other",
    }
}
