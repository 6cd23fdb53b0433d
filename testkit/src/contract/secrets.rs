//! What every [`Secrets`] must do.

use std::sync::Arc;

use groundplan_ports::{
    error::ErrorKind,
    secrets::{ResolvedSecret, SecretRef, SecretScope, SecretSourceKind, SecretValue, Secrets},
};

/// An implementation that has one Secret, `git-credentials`, of no namespace, with the keys `username`
/// (value `robot`) and `password` (value `hunter2-hunter2`).
pub trait Fixture: Send + Sync {
    /// Another process's handle on it.
    fn handle(&self) -> Arc<dyn Secrets>;
}

/// Makes a test of every case. The argument is an expression for a fresh [`Fixture`].
#[macro_export]
macro_rules! secrets_contract {
    ($fixture:expr) => {
        $crate::contract_cases!(
            secrets,
            $fixture,
            key_resolves_to_its_value,
            object_resolves_to_all_keys_in_order,
            what_is_missing_is_named,
            sealed_value_opens_by_its_token,
            equal_values_have_different_tokens,
            text_without_tokens_opens_to_nothing,
            values_do_not_show_themselves,
        );
    };
}

fn reference(name: &str, key: Option<&str>) -> SecretRef {
    SecretRef {
        kind: SecretSourceKind::Secret,
        name: name.to_owned(),
        key: key.map(str::to_owned),
    }
}

fn scope() -> SecretScope {
    SecretScope {
        namespace: "default".to_owned(),
    }
}

fn resolved(key: &str, value: &str) -> ResolvedSecret {
    ResolvedSecret {
        key: key.to_owned(),
        value: SecretValue::new(value),
    }
}

/// One key gives one value, every time.
pub async fn key_resolves_to_its_value(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    let password = reference("git-credentials", Some("password"));
    for _ in 0..2 {
        let found = secrets.resolve(&scope(), &password).await.unwrap();
        assert!(found == [resolved("password", "hunter2-hunter2")]);
    }
}

/// A whole object gives all its values in the order of their keys.
pub async fn object_resolves_to_all_keys_in_order(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    let whole = reference("git-credentials", None);
    let found = secrets.resolve(&scope(), &whole).await.unwrap();
    let expected = [
        resolved("password", "hunter2-hunter2"),
        resolved("username", "robot"),
    ];
    assert!(found == expected);
}

/// A missing object or key is *not found*, by name.
pub async fn what_is_missing_is_named(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    for (name, key) in [
        ("git-credentials", "pasword"),
        ("git-credential", "password"),
    ] {
        let missing = reference(name, Some(key));
        let error = secrets.resolve(&scope(), &missing).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        let message = error.to_string();
        assert!(message.contains(&format!("`{name}`")), "{message}");
        assert!(message.contains(&format!("`{key}`")), "{message}");
    }
    let missing = reference("git-credential", None);
    let error = secrets.resolve(&scope(), &missing).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.to_string().contains("`git-credential`"), "{error}");
}

/// Tokens within a text, in whatever surroundings, give their values, for another process too.
pub async fn sealed_value_opens_by_its_token(fixture: &dyn Fixture) {
    let (secrets, other) = (fixture.handle(), fixture.handle());
    let (one, two) = (SecretValue::new("first value"), SecretValue::new([0, 255]));
    let token_one = secrets.seal(&one).await.unwrap();
    let token_two = secrets.seal(&two).await.unwrap();
    assert!(!token_one.contains("first value"));
    let text =
        format!("{{\"a\": \"{token_one}\", \"b\": \"x{token_two}y\", \"c\": \"{token_one}\"}}");
    let mut found = other.open(&text).await.unwrap();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut expected = vec![(token_one, one), (token_two, two)];
    expected.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert!(found == expected);
}

/// A token gives nothing away, not even that two values are the same.
pub async fn equal_values_have_different_tokens(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    let value = SecretValue::new("the same");
    let one = secrets.seal(&value).await.unwrap();
    let two = fixture.handle().seal(&value).await.unwrap();
    assert_ne!(one, two);
    for token in [one, two] {
        assert!(secrets.open(&token).await.unwrap() == [(token, value.clone())]);
    }
}

/// Ordinary text is left alone.
pub async fn text_without_tokens_opens_to_nothing(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    secrets.seal(&SecretValue::new("x")).await.unwrap();
    for text in ["", "plan: 3 to add", "groundplan:sealed", "\u{e4}\0"] {
        assert!(secrets.open(text).await.unwrap().is_empty(), "`{text}`");
    }
}

/// Neither a resolved value nor an error prints a secret.
pub async fn values_do_not_show_themselves(fixture: &dyn Fixture) {
    let secrets = fixture.handle();
    let whole = secrets
        .resolve(&scope(), &reference("git-credentials", None))
        .await;
    let missing = secrets
        .resolve(&scope(), &reference("git-credentials", Some("hunter")))
        .await;
    let shown = format!("{whole:?} {missing:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
}
