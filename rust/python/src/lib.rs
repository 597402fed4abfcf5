//! ottla-python
