//! Proves: topic patterns match as Java's do: the whole name, with look-around, within bounds.

use std::time::{Duration, Instant};

use ottla_client::Kind;
use ottla_client::metadata::Pattern;

#[test]
fn a_pattern_matches_the_whole_name() {
    for (pattern, yes, no) in [
        ("orders", "orders", "orders-2"),
        ("orders.*", "orders-2", "old-orders"),
        ("a|ab", "ab", "abc"),
        ("^t[0-9]+$", "t12", "t"),
        ("(?!__).*", "t", "__consumer_offsets"),
        ("(?i)ORDERS", "orders", "order"),
        (r"(\w)\1", "aa", "ab"),
        (r"[^.]+\.(eu|us)", "x.eu", "x.y.eu"),
    ] {
        let known = Pattern::java(pattern).expect(pattern);
        assert!(known.matches(yes), "{pattern} {yes}");
        assert!(!known.matches(no), "{pattern} {no}");
    }
}

#[test]
fn invalid_expressions_are_rejected() {
    for wrong in ["(", "a)(b", "*", "[a"] {
        let error = Pattern::java(wrong).expect_err(wrong);
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.message().contains(&format!("{wrong:?}")), "{error}");
    }
}

/// Matching with back-references may take exponential time; it is aborted and matches nothing.
#[test]
fn a_costly_pattern_is_aborted() {
    let costly = Pattern::java(r"(x+x+)+\1y").expect("an expression");
    let start = Instant::now();
    assert!(!costly.matches(&"x".repeat(200)));
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// Patterns come from users and configuration files, and a stack overflow cannot be caught.
#[test]
fn patterns_are_nested_so_deep_at_most() {
    let test = || {
        for (open, inner, close) in [
            ("(", "a", ")"),
            ("(?:", "a", ")"),
            ("(?=", "a", ")"),
            ("(?<!", "a", ")"),
            ("(?i:", "a", ")"),
            ("(?>", "a", ")"),
            ("(a|", "b", ")"),
            ("[", "a", "]"),
            ("[^a[", "b", "]]"),
            ("", "a", "{1}"),
            ("", "a", "?"),
            ("", "a", "+?"),
            ("", "a", "|"),
            ("a|", "b", ""),
            ("(?i)", "a", ""),
            ("\\", "\\", ""),
        ] {
            for count in [1, 10, 60, 100, 300, 10_000] {
                let text = format!("{}{inner}{}", open.repeat(count), close.repeat(count));
                // Either is fine; an overflow ends the process.
                if let Ok(pattern) = Pattern::java(&text) {
                    let _ = pattern.matches("a");
                }
            }
        }
    };
    // Frames of code that is not optimised are several times larger.
    let stack = if cfg!(debug_assertions) { 2 << 20 } else { 512 << 10 };
    std::thread::Builder::new().stack_size(stack).spawn(test).unwrap().join().unwrap();
}
