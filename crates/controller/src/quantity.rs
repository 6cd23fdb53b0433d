//! Kubernetes quantities such as `500m`, `1Gi`, `1e3`.

/// Memory in bytes; `None` where the text is no quantity.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    thousandths(text).map(|value| (value / 1000).try_into().unwrap_or(u64::MAX))
}

/// Processors in thousandths; `None` where the text is no quantity.
pub(crate) fn millis(text: &str) -> Option<u64> {
    thousandths(text).map(|value| value.try_into().unwrap_or(u64::MAX))
}

fn thousandths(text: &str) -> Option<u128> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number = decimal_thousandths(number)?;
    if let Some(exponent) = suffix.strip_prefix(['e', 'E'])
        && let Ok(exponent) = exponent.parse::<u32>()
    {
        return number.checked_mul(10u128.checked_pow(exponent)?);
    }
    let (factor, divisor): (u128, u128) = match suffix {
        "" => (1, 1),
        "m" => (1, 1000),
        "k" => (1000, 1),
        "M" => (1000u128.pow(2), 1),
        "G" => (1000u128.pow(3), 1),
        "T" => (1000u128.pow(4), 1),
        "P" => (1000u128.pow(5), 1),
        "E" => (1000u128.pow(6), 1),
        "Ki" => (1024, 1),
        "Mi" => (1024u128.pow(2), 1),
        "Gi" => (1024u128.pow(3), 1),
        "Ti" => (1024u128.pow(4), 1),
        "Pi" => (1024u128.pow(5), 1),
        "Ei" => (1024u128.pow(6), 1),
        _ => return None,
    };
    Some(number.checked_mul(factor)?.div_ceil(divisor))
}

fn decimal_thousandths(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: u128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut digits = fraction.chars().take(3).collect::<String>();
    while digits.len() < 3 {
        digits.push('0');
    }
    whole
        .checked_mul(1000)?
        .checked_add(digits.parse::<u128>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_writes_them() {
        for (text, expected) in [
            ("1Gi", Some(1 << 30)),
            ("1.5Ki", Some(1536)),
            ("128974848", Some(128_974_848)),
            ("129e6", Some(129_000_000)),
            ("129M", Some(129_000_000)),
            ("1G", Some(1_000_000_000)),
            ("", None),
            ("ten", None),
            ("1Gib", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
        for (text, expected) in [
            ("500m", Some(500)),
            ("0.5", Some(500)),
            ("2", Some(2000)),
            ("m", None),
        ] {
            assert_eq!(millis(text), expected, "{text}");
        }
    }
}
