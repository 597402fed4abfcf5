//! Tables of configuration keys: one row each with field, type, default, dotted name, bounds and meaning.
//!
//! Invariant: the struct, its defaults, its parsing and the docs table are all generated from the rows.

use std::time::Duration;

/// A row of a table, for documentation.
#[derive(Debug, Clone)]
pub struct Row {
    /// The dotted name.
    pub name: &'static str,
    /// The type's name.
    pub ty: &'static str,
    /// The default, as a configuration file would contain it; empty if there is none.
    pub default: String,
    /// The smallest and the largest number allowed; `(0, 0)` for other types.
    pub bounds: (i64, i64),
    /// Whether values must never be shown.
    pub secret: bool,
    /// The meaning.
    pub doc: &'static str,
}

/// The default of a time in milliseconds.
pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The largest number of most keys.
pub(super) const INT: i64 = i32::MAX as i64;

/// Declares a configuration by its rows.
macro_rules! config_table {
    (
        $(#[$attribute:meta])* $config:ident, $names:ident
            $(, with $more:ident: $more_ty:ty = $more_default:expr, $more_doc:literal)?;
        $($field:ident: $ty:ty = $default:expr, $name:literal, $bounds:expr, $doc:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $config {
            $(#[doc = $doc] pub $field: $ty,)*
            $(#[doc = $more_doc] pub $more: $more_ty,)?
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $($field: $default,)* $($more: $more_default,)? }
            }
        }

        const $names: &[&str] = &[$($name,)*];

        impl $config {
            /// Every row.
            #[must_use]
            pub fn rows() -> Vec<$crate::config::rows::Row> {
                let defaults = Self::default();
                vec![$($crate::config::rows::Row {
                    name: $name,
                    ty: <$ty as $crate::config::value::ConfigType>::TYPE,
                    default: $crate::config::value::ConfigType::to_text(&defaults.$field),
                    bounds: $bounds,
                    secret: <$ty as $crate::config::value::ConfigType>::SECRET,
                    doc: $doc,
                },)*]
            }

            /// Sets the key with this dotted name; `None` if there is none.
            pub(super) fn set_row(
                &mut self,
                name: &str,
                value: &$crate::config::value::Value,
            ) -> Option<Result<(), String>> {
                use $crate::config::value::ConfigType;
                match name {
                    $($name => Some(ConfigType::parse(value, $bounds).map(|value| self.$field = value)),)*
                    _ => None,
                }
            }
        }
    };
}

pub(super) use config_table;
