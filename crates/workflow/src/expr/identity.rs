//! Names and ids of nodes, as Argo gives them, so that its tools can compare runs one to one.

/// The 32-bit FNV-1a hash of a text's bytes.
pub fn fnv1a32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Id of a node: the run's name for the root, else that name and the hash of the node's full name.
pub fn node_id(run_name: &str, node_name: &str) -> String {
    if node_name == run_name {
        return run_name.to_owned();
    }
    format!("{run_name}-{}", fnv1a32(node_name))
}

/// Name of the pod that a leaf would have on a cluster (`pod.name`): at most 253 bytes, of which
/// the hash is never cut.
pub fn pod_name(run_name: &str, node_name: &str, template_name: &str) -> String {
    if node_name == run_name {
        return run_name.to_owned();
    }
    let mut prefix = run_name.to_owned();
    if !template_name.is_empty() {
        prefix.push('-');
        prefix.push_str(template_name);
    }
    let mut end = prefix.len().min(LONGEST_PREFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    prefix.truncate(end);
    format!("{prefix}-{}", fnv1a32(node_name))
}

/// 253 bytes of a Kubernetes name less the longest hash and the hyphen before it.
const LONGEST_PREFIX: usize = 253 - 10 - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a_of_32_bits() {
        assert_eq!(fnv1a32(""), 2_166_136_261);
        assert_eq!(fnv1a32("a"), 0xe40c_292c);
        assert_eq!(fnv1a32("foobar"), 0xbf9c_f968);
    }

    #[test]
    fn the_root_keeps_the_name_of_the_run() {
        assert_eq!(node_id("hello", "hello"), "hello");
        assert_eq!(
            node_id("hello", "hello.A"),
            format!("hello-{}", fnv1a32("hello.A"))
        );
    }

    #[test]
    fn a_long_pod_name_is_cut_before_its_hash() {
        let name = pod_name(&"w".repeat(200), "n", &"t".repeat(200));
        assert!(name.len() <= 253);
        assert!(name.ends_with(&format!("-{}", fnv1a32("n"))));
        assert_eq!(
            pod_name("w", "w[0].a", "t"),
            format!("w-t-{}", fnv1a32("w[0].a"))
        );
    }
}
