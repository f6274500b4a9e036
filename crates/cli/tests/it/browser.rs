//! A real Chromium, driven through its WebDriver: a few JSON calls, so that no library is needed.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// One at a time: a browser is the hungriest guest of a small machine.
static TURN: Mutex<()> = Mutex::new(());

pub(crate) struct Browser {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    _profile: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    pub(crate) fn open(scripts: bool) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver; `cargo xtask setup` installs it");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let port = port.expect("chromedriver ended at once");
        std::thread::spawn(move || lines.for_each(drop));
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .proxy(None);
        let mut browser = Self {
            driver,
            session: format!("http://127.0.0.1:{port}/session"),
            agent: config.build().into(),
            _profile: profile,
            _turn: turn,
        };
        let folder = browser._profile.path().display().to_string();
        let javascript = if scripts { 1 } else { 2 };
        let options = json!({
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage", format!("--user-data-dir={folder}"),
            ],
            "prefs": { "profile.managed_default_content_settings.javascript": javascript },
        });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = browser.post("", &wanted);
        browser.session = format!("{}/{}", browser.session, made["sessionId"].as_str().unwrap());
        browser
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let url = format!("{}{path}", self.session);
        let mut response = self.agent.post(&url).send(body.to_string()).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(response.status().is_success(), "{path} {body}: {text}");
        value["value"].clone()
    }

    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// What a piece of script gives; works on pages whose own scripts are off, too.
    pub(crate) fn eval(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The text people see.
    pub(crate) fn text(&self) -> String {
        self.eval("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    fn find(&self, selector: &str) -> String {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    pub(crate) fn click(&self, selector: &str) {
        let element = self.find(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Types a text into a field.
    pub(crate) fn write(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.post(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub(crate) fn until(&self, text: &str) {
        self.until_so(text, |browser| browser.text().contains(text));
    }

    #[track_caller]
    pub(crate) fn until_so(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < until, "waited in vain for {what}:\n{}", self.text());
            std::thread::sleep(LOOK);
        }
    }

    /// What the browser complained about: policies that were broken, scripts that failed.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let said = log.as_array().unwrap().iter().filter_map(|line| line["message"].as_str());
        let bad =
            |line: &&str| line.contains("Content Security Policy") || line.contains("Uncaught");
        said.filter(bad).map(str::to_owned).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.agent.delete(&self.session).call());
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
