//! Variables of a container, with every reference looked up.

use groundplan_ports::{
    runner::EnvValue,
    secrets::{SecretRef, SecretSourceKind, SecretValue},
};
use groundplan_workflow::document::{Container, EnvFromSource, EnvVar, KeySelector};

use super::{SecretSet, Unspecifiable, kind_name, looks_secret};

pub(super) fn environment(
    container: &Container,
    secrets: &SecretSet,
) -> Result<Vec<EnvValue>, Unspecifiable> {
    let mut env: Vec<EnvValue> = secrets
        .passed_variables
        .iter()
        .map(|(name, value)| EnvValue {
            name: name.clone(),
            value: value.clone(),
            secret: looks_secret(name),
        })
        .collect();
    for from in &container.env_from {
        variables_from(from, secrets, &mut env)?;
    }
    for variable in &container.env {
        if let Some(value) = variable_value(variable, secrets, &env)? {
            env.retain(|known| known.name != variable.name);
            env.push(value);
        }
    }
    Ok(env)
}

fn variables_from(
    from: &EnvFromSource,
    secrets: &SecretSet,
    env: &mut Vec<EnvValue>,
) -> Result<(), Unspecifiable> {
    let sources = [
        (SecretSourceKind::Secret, from.secret_ref.as_ref()),
        (SecretSourceKind::ConfigMap, from.config_map_ref.as_ref()),
    ];
    for (kind, object) in sources {
        let Some(object) = object else { continue };
        let reference = SecretRef {
            kind,
            name: object.name.clone(),
            key: None,
        };
        match secrets.references.get(&reference) {
            Some(values) => env.extend(values.iter().map(|value| EnvValue {
                name: format!("{}{}", from.prefix, value.key),
                value: value.value.clone(),
                secret: kind == SecretSourceKind::Secret,
            })),
            None if object.optional == Some(true) => {}
            None => {
                return Err(Unspecifiable::MissingObject {
                    kind: kind_name(kind),
                    name: object.name.clone(),
                });
            }
        }
    }
    Ok(())
}

fn variable_value(
    variable: &EnvVar,
    secrets: &SecretSet,
    env: &[EnvValue],
) -> Result<Option<EnvValue>, Unspecifiable> {
    let name = variable.name.clone();
    if let Some(from) = &variable.value_from {
        let sources = [
            (SecretSourceKind::Secret, from.secret_key_ref.as_ref()),
            (
                SecretSourceKind::ConfigMap,
                from.config_map_key_ref.as_ref(),
            ),
        ];
        for (kind, selector) in sources {
            let Some(selector) = selector else { continue };
            let value = key_value(kind, selector, secrets)?;
            return Ok(value.map(|value| EnvValue {
                name,
                value,
                secret: kind == SecretSourceKind::Secret,
            }));
        }
        return Ok(None);
    }
    let text = variable.value.as_ref().map_or("", |value| value.as_str());
    let plain = expanded(text, env);
    let value = unsealed(&plain, &secrets.sealed);
    Ok(Some(EnvValue {
        name,
        secret: value != plain,
        value: SecretValue::new(value),
    }))
}

fn key_value(
    kind: SecretSourceKind,
    selector: &KeySelector,
    secrets: &SecretSet,
) -> Result<Option<SecretValue>, Unspecifiable> {
    let reference = SecretRef {
        kind,
        name: selector.name.clone(),
        key: Some(selector.key.clone()),
    };
    match secrets
        .references
        .get(&reference)
        .and_then(|values| values.first())
    {
        Some(value) => Ok(Some(value.value.clone())),
        None if selector.optional == Some(true) => Ok(None),
        None => Err(Unspecifiable::MissingKey {
            kind: kind_name(kind),
            name: selector.name.clone(),
            key: selector.key.clone(),
        }),
    }
}

/// Kubernetes' `$(NAME)`: replaced where the variable is known, `$$` stands for `$`.
pub(super) fn expanded(text: &str, env: &[EnvValue]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("$$(") {
            out.push_str("$(");
            rest = after;
        } else if let Some((name, after)) = rest
            .strip_prefix("$(")
            .and_then(|inner| inner.split_once(')'))
            && let Some(value) = env.iter().rev().find(|value| value.name == name)
        {
            out.push_str(&String::from_utf8_lossy(value.value.expose()));
            rest = after;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

pub(super) fn unsealed(text: &str, sealed: &[(String, SecretValue)]) -> String {
    let mut text = text.to_owned();
    for (token, value) in sealed {
        if text.contains(token.as_str()) {
            text = text.replace(token.as_str(), &String::from_utf8_lossy(value.expose()));
        }
    }
    text
}
