//! ottla-mock
