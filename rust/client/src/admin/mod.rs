//! Administrative operations with typed requests: [`transactions`]. Python writes all others, over
//! [`crate::requests::untyped`].

pub mod transactions;
