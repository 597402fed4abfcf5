//! ottla-client
