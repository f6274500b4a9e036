//! Signed in over restarts and at every server of a store, as a browser sees it.

use std::time::{Duration, Instant};

use armarius_store::conformance::cluster::Cluster;
use rustix::process::Signal;

use crate::lab::Lab;

/// How long a server may take to notice what another one did.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a browser has: no key, perhaps a cookie.
struct Visitor {
    agent: ureq::Agent,
}

impl Visitor {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .proxy(None);
        Self { agent: config.build().into() }
    }

    /// Shows the code of a link at a server; the cookie, if it was good.
    fn sign_in(&self, server: &str, link: &str) -> Option<String> {
        let (_, form) = link.trim().split_once('?').unwrap();
        let post = self.agent.post(format!("{server}/login"));
        let post = post.header("content-type", "application/x-www-form-urlencoded");
        let answer = post.header("sec-fetch-site", "same-origin").send(form).unwrap();
        let cookie = answer.headers().get("set-cookie")?.to_str().unwrap();
        Some(cookie.split(';').next().unwrap().to_owned())
    }

    fn sign_out(&self, server: &str, cookie: &str) {
        let post = self.agent.post(format!("{server}/logout")).header("cookie", cookie);
        let answer = post.header("sec-fetch-site", "same-origin").send_empty().unwrap();
        assert_eq!(answer.status(), 303);
    }

    /// Whether a page is shown, and not the way to sign in.
    fn is_in(&self, server: &str, cookie: &str) -> bool {
        let get = self.agent.get(format!("{server}/")).header("accept", "text/html");
        let answer = get.header("cookie", cookie).call().unwrap();
        match answer.status().as_u16() {
            200 => true,
            303 => false,
            other => panic!("{other}"),
        }
    }

    #[track_caller]
    fn out_soon(&self, server: &str, cookie: &str) {
        let began = Instant::now();
        while self.is_in(server, cookie) {
            assert!(began.elapsed() < PATIENCE, "still signed in at {server}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn whoever_signed_in_stays_so_when_the_server_is_killed() {
    let (lab, visitor) = (Lab::new(), Visitor::new());
    let mut up = lab.up();
    let key = lab.json(&["key", "add", "eve", "--role", "operator"]);
    let env = [("ARMARIUS_KEY", key["key"].as_str().unwrap())];
    let links: Vec<String> = (0..2).map(|_| lab.say_with(&["login"], &env).out).collect();
    let first = visitor.sign_in(&up.url, &links[0]).unwrap();
    assert!(visitor.is_in(&up.url, &first));
    let gone = visitor.sign_in(&up.url, &lab.say_with(&["login"], &env).out).unwrap();
    visitor.sign_out(&up.url, &gone);
    up.signal(Signal::KILL);
    up.end();
    let mut up = lab.up();
    assert!(visitor.is_in(&up.url, &first));
    assert!(!visitor.is_in(&up.url, &gone), "who signed out stays out");
    assert!(visitor.sign_in(&up.url, &links[0]).is_none(), "a link works once");
    let second = visitor.sign_in(&up.url, &links[1]).unwrap();
    lab.ok(&["key", "revoke", key["id"].as_str().unwrap()]);
    for cookie in [&first, &second] {
        assert!(!visitor.is_in(&up.url, cookie), "the key of the session is revoked");
    }
    up.signal(Signal::TERM);
    assert_eq!(up.end(), Some(0));
    assert_eq!(lab.json(&["doctor"])["findings"], serde_json::json!([]));
}

#[test]
fn a_sign_in_is_good_at_every_server_of_a_database() {
    let (lab, visitor) = (Lab::new(), Visitor::new());
    let url = format!("{}&shards=4", Cluster::shared().fresh_url());
    let serve = |data: &str| {
        let args = ["serve", "--store", &url, "--data", data, "--listen", "127.0.0.1:0"];
        lab.start(&args, "listening on")
    };
    let (mut one, two) = (serve("one"), serve("two"));
    let key = std::fs::read_to_string(lab.path("one/admin.key")).unwrap();
    let link = || {
        let said = lab.say_with(&["login", "--url", &one.url], &[("ARMARIUS_KEY", key.trim())]);
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    let (a, b) = (link(), link());
    // Made at one, shown at the other, and only once, at whichever.
    let cookie = visitor.sign_in(&two.url, &a).unwrap();
    assert!(visitor.sign_in(&one.url, &a).is_none() && visitor.sign_in(&two.url, &a).is_none());
    assert!(visitor.is_in(&one.url, &cookie) && visitor.is_in(&two.url, &cookie));
    let other = visitor.sign_in(&one.url, &b).unwrap();
    assert!(visitor.is_in(&two.url, &other));
    visitor.sign_out(&one.url, &other);
    assert!(!visitor.is_in(&one.url, &other));
    visitor.out_soon(&two.url, &other);
    one.signal(Signal::KILL);
    one.end();
    assert!(visitor.is_in(&two.url, &cookie));
    let one = serve("one");
    assert!(visitor.is_in(&one.url, &cookie) && !visitor.is_in(&one.url, &other));
}
