//! ottla-arrow
