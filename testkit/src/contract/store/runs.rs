//! What lists show of runs.

use super::*;

pub(super) fn row(run: &str, name: &str, created_at: i64) -> RunRow {
    RunRow {
        run: RunId(run.to_owned()),
        name: name.to_owned(),
        namespace: "default".to_owned(),
        phase: "Running".to_owned(),
        message: String::new(),
        created_at: Timestamp(created_at),
        started_at: Some(Timestamp(created_at + 1)),
        finished_at: None,
        settings: vec![0, 255],
    }
}

async fn project(store: &dyn Store, rows: &[RunRow]) {
    let commit = Commit {
        projections: rows.iter().cloned().map(Projection::Run).collect(),
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
}

/// The newest come first, as many as asked for; a later row of a run replaces the earlier.
pub async fn runs_are_listed_newest_first(fixture: &dyn Fixture) {
    let store = fixture.handle();
    let rows = [row("b", "two", 2), row("a", "one", 1), row("c", "three", 3)];
    project(&*store, &rows).await;
    let mut ended = row("a", "one", 1);
    ended.phase = "Succeeded".to_owned();
    ended.message = "done".to_owned();
    ended.finished_at = Some(Timestamp(9));
    project(&*store, &[ended.clone()]).await;
    let listed = store.runs(10).await.unwrap();
    assert_eq!(listed, [rows[2].clone(), rows[0].clone(), ended]);
    assert_eq!(store.runs(1).await.unwrap(), [rows[2].clone()]);
    assert!(store.runs(0).await.unwrap().is_empty());
}

/// An exact id or name, or a beginning that fits one name; the newest where a name came back.
pub async fn run_is_found_by_id_name_or_prefix(fixture: &dyn Fixture) {
    let store = fixture.handle();
    project(
        &*store,
        &[
            row("01aa", "drift", 1),
            row("01ab", "drift-x7k2p", 2),
            row("02aa", "plan-%", 3),
            row("02ab", "plan-%", 4),
        ],
    )
    .await;
    for (text, expected) in [
        ("01aa", "01aa"),
        ("drift", "01aa"),
        ("drift-", "01ab"),
        ("plan-%", "02ab"),
        ("pl", "02ab"),
        ("02", "02ab"),
        ("02aa", "02aa"),
    ] {
        let found = store.find_run(text).await.unwrap();
        assert_eq!(found.run.0, expected, "`{text}`");
    }
    for text in ["none", "", "%", "DRIFT"] {
        assert_eq!(
            kind(store.find_run(text).await),
            ErrorKind::NotFound,
            "`{text}`"
        );
    }
    for text in ["d", "0", "01"] {
        let error = store.find_run(text).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "`{text}`");
        let told = format!("{error} {}", error.hint.as_deref().unwrap_or_default());
        assert!(told.contains("drift-x7k2p"), "{told}");
    }
}
