//! Reads back the JSON that the codec wrote. Every error says where: `tasks[2].ttl: …`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::{
    Action, Backoff, Calendar, Class, Depend, Flow, Limit, Lots, On, OnEmpty, Pairs, Parts, Query,
    Reference, Step, When,
};
use super::{Word, parse_length, parse_reference};
use crate::ids::Span;
use crate::text::{Name, Text};

type Read<T> = Result<T, String>;

pub(super) fn flow(value: &Value) -> Read<Flow> {
    let mut fields = Fields::open("", value)?;
    let mut flow = Flow::manual(fields.needed("name")?.name()?);
    if let Some(on) = fields.take("on") {
        flow.on = trigger(&on)?;
    }
    fields.set("order", &mut flow.order, |v| v.word())?;
    fields.set("records", &mut flow.records, |v| v.name().map(Some))?;
    fields.set("touches", &mut flow.touches, |v| v.flag())?;
    fields.set("singleton", &mut flow.singleton, |v| v.flag())?;
    fields.set("max_items", &mut flow.max_items, |v| v.number())?;
    fields.set("concurrency", &mut flow.concurrency, |v| v.number().map(Some))?;
    flow.pairs = pairs(&mut fields)?;
    flow.lots = lots(&mut fields)?;
    fields.set("tasks", &mut flow.tasks, |v| v.list(step))?;
    fields.close()?;
    Ok(flow)
}

fn trigger(at: &At<'_>) -> Read<On> {
    if let Value::String(word) = at.value {
        return match word.as_str() {
            "manual" => Ok(On::Manual),
            "lot" => Ok(On::Lot),
            "submission" => Ok(On::Submission),
            "commit" => Ok(On::Commit { paths: Vec::new(), ignore_authors: Vec::new() }),
            "items" => Ok(On::Items(Query::default())),
            _ => Err(at.wrong("the name of a trigger")),
        };
    }
    let mut outer = Fields::open(&at.place, at.value)?;
    let on = if let Some(inner) = outer.take("commit") {
        let mut fields = inner.fields()?;
        let paths = fields.texts("paths")?;
        let ignore_authors = fields.texts("ignore_authors")?;
        fields.close()?;
        On::Commit { paths, ignore_authors }
    } else if let Some(inner) = outer.take("items") {
        On::Items(query(&inner)?)
    } else if let Some(inner) = outer.take("pairs") {
        let mut fields = inner.fields()?;
        let rows = fields.needed("rows")?.name()?;
        let columns = fields.needed("columns")?.name()?;
        fields.close()?;
        On::Pairs { rows, columns }
    } else {
        On::Schedule(calendar(&outer.needed("schedule")?)?)
    };
    outer.close()?;
    Ok(on)
}

fn query(at: &At<'_>) -> Read<Query> {
    let mut fields = at.fields()?;
    let query = Query {
        kinds: fields.names("kinds")?,
        types: fields.names("types")?,
        success: fields.names("success")?,
        failed: fields.names("failed")?,
        absent: fields.names("absent")?,
        stale: fields.names("stale")?,
        items: fields.texts("items")?,
    };
    fields.close()?;
    Ok(query)
}

fn calendar(at: &At<'_>) -> Read<Calendar> {
    let mut fields = at.fields()?;
    let mut calendar = Calendar {
        cron: fields.needed("cron")?.text()?,
        tz: fields.needed("tz")?.text()?,
        missed: Default::default(),
        overlap: Default::default(),
    };
    fields.set("missed", &mut calendar.missed, |v| v.word())?;
    fields.set("overlap", &mut calendar.overlap, |v| v.word())?;
    fields.close()?;
    Ok(calendar)
}

fn pairs(fields: &mut Fields<'_>) -> Read<Option<Pairs>> {
    let Some(bundle) = fields.take("bundle") else {
        return Ok(None);
    };
    let bundle_by_item =
        super::bundle_of(&bundle.text()?).ok_or_else(|| bundle.wrong("item or none"))?;
    Ok(Some(Pairs {
        bundle_by_item,
        max_columns: fields.needed("max_columns")?.number()?,
        lease: fields.needed("lease")?.length()?,
        offer_ttl: fields.needed("offer_ttl")?.length()?,
    }))
}

fn lots(fields: &mut Fields<'_>) -> Read<Option<Lots>> {
    let Some(sources) = fields.take("sources") else {
        return Ok(None);
    };
    let mut lots = Lots {
        sources: sources.map(|role| Name::new(role).ok(), |v| v.text())?,
        sinks: fields.needed("sinks")?.map(|role| Name::new(role).ok(), |v| v.text())?,
        parts: Parts::Whole,
        on_empty: OnEmpty::Pass,
    };
    fields.set("parts", &mut lots.parts, |v| v.list(|segment| segment.name()).map(Parts::By))?;
    fields.set("on_empty", &mut lots.on_empty, |v| v.word())?;
    Ok(Some(lots))
}

fn step(at: &At<'_>) -> Read<Step> {
    let mut fields = at.fields()?;
    let mut step = Step::outside(fields.needed("name")?.name()?);
    step.action = action(&mut fields)?;
    fields.set("depends", &mut step.depends, |v| v.list(depend))?;
    fields.set("cancels", &mut step.cancels, |v| v.list(|r| r.reference()))?;
    fields.set("exclusive", &mut step.exclusive, |v| v.flag())?;
    fields.set("image", &mut step.image, |v| v.text().map(Some))?;
    fields.set("env", &mut step.env, texts)?;
    step.secrets = fields.names("secrets")?;
    fields.set("params", &mut step.params, texts)?;
    fields.set("source", &mut step.source, |v| v.flag())?;
    fields.set("workdir", &mut step.workdir, |v| v.text().map(Some))?;
    step.labels = fields.names("labels")?;
    fields.set("priority", &mut step.priority, |v| v.number())?;
    fields.set("timeout", &mut step.timeout, |v| v.length())?;
    fields.set("progress_timeout", &mut step.progress_timeout, |v| v.length().map(Some))?;
    fields.set("ttl", &mut step.ttl, |v| v.length())?;
    fields.set("retries", &mut step.retries, |v| v.number())?;
    fields.set("backoff", &mut step.backoff, backoff)?;
    fields.set("exit_codes", &mut step.exit_codes, exit_codes)?;
    fields.set("late", &mut step.late, |v| v.word())?;
    fields.set("limit", &mut step.limit, |v| limit(v).map(Some))?;
    fields.close()?;
    Ok(step)
}

fn action(fields: &mut Fields<'_>) -> Read<Action> {
    if let Some(argv) = fields.take("command") {
        return argv.list(|word| word.text()).map(Action::Command);
    }
    if let Some(script) = fields.take("script") {
        let shell = fields.needed("shell")?.text()?;
        return Ok(Action::Script { text: script.text()?, shell });
    }
    fields.needed("run")?.name().map(Action::Run)
}

fn depend(at: &At<'_>) -> Read<Depend> {
    if at.value.is_string() {
        return Ok(Depend { on: at.reference()?, when: When::Done });
    }
    let mut fields = at.fields()?;
    let on = fields.needed("task")?.reference()?;
    let when = fields.needed("on")?.word()?;
    fields.close()?;
    Ok(Depend { on, when })
}

fn backoff(at: &At<'_>) -> Read<Backoff> {
    let text = at.text()?;
    let ends = text.split_once("..");
    let ends = ends.and_then(|(min, max)| Some((parse_length(min)?, parse_length(max)?)));
    ends.map(|(min, max)| Backoff { min, max }).ok_or_else(|| at.wrong("two lengths, min..max"))
}

fn exit_codes(at: &At<'_>) -> Read<BTreeMap<i32, Class>> {
    at.map(|code| code.parse().ok(), |v| v.word())
}

fn limit(at: &At<'_>) -> Read<Limit> {
    let mut fields = at.fields()?;
    let limit = Limit { key: fields.needed("key")?.text()?, max: fields.needed("max")?.number()? };
    fields.close()?;
    Ok(limit)
}

fn texts(at: &At<'_>) -> Read<BTreeMap<Text, Text>> {
    at.map(|key| Some(Text::from(key)), |v| v.text())
}

/// A value and where it stands.
struct At<'a> {
    place: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    fn wrong(&self, expected: &str) -> String {
        format!("{}: expected {expected}", self.place)
    }

    fn fields(&self) -> Read<Fields<'a>> {
        Fields::open(&self.place, self.value)
    }

    fn text(&self) -> Read<Text> {
        self.value.as_str().map(Text::from).ok_or_else(|| self.wrong("a text"))
    }

    fn name(&self) -> Read<Name> {
        Name::new(&self.text()?).map_err(|refusal| format!("{}: {refusal}", self.place))
    }

    fn reference(&self) -> Read<Reference> {
        parse_reference(&self.text()?).map_err(|refusal| format!("{}: {refusal}", self.place))
    }

    fn flag(&self) -> Read<bool> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    fn number<T: TryFrom<i64>>(&self) -> Read<T> {
        let number = self.value.as_i64().and_then(|n| T::try_from(n).ok());
        number.ok_or_else(|| self.wrong("a whole number within its range"))
    }

    fn length(&self) -> Read<Span> {
        parse_length(&self.text()?).ok_or_else(|| self.wrong("a length of time"))
    }

    fn word<W: Word>(&self) -> Read<W> {
        W::from_word(&self.text()?).ok_or_else(|| {
            let words: Vec<_> = W::ALL.iter().map(|choice| choice.word()).collect();
            self.wrong(&format!("one of {}", words.join(", ")))
        })
    }

    fn list<T>(&self, read: impl Fn(&Self) -> Read<T>) -> Read<Vec<T>> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        let place = |i| format!("{}[{i}]", self.place);
        list.iter().enumerate().map(|(i, value)| read(&Self { place: place(i), value })).collect()
    }

    fn map<K: Ord, V>(
        &self,
        key_of: impl Fn(&str) -> Option<K>,
        read: impl Fn(&Self) -> Read<V>,
    ) -> Read<BTreeMap<K, V>> {
        let map = self.value.as_object().ok_or_else(|| self.wrong("an object"))?;
        let entries = map.iter().map(|(key, value)| {
            let at = Self { place: format!("{}.{key}", self.place), value };
            let key = key_of(key).ok_or_else(|| at.wrong("another key"))?;
            Ok((key, read(&at)?))
        });
        entries.collect()
    }
}

/// The fields of an object, each taken once; what is left at the end is unknown.
struct Fields<'a> {
    place: String,
    map: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn open(place: &str, value: &'a Value) -> Read<Self> {
        let map = value.as_object().ok_or_else(|| match place {
            "" => "expected an object".to_owned(),
            place => format!("{place}: expected an object"),
        })?;
        Ok(Self { place: place.to_owned(), map, taken: Vec::new() })
    }

    fn take(&mut self, key: &'static str) -> Option<At<'a>> {
        self.taken.push(key);
        self.map.get(key).map(|value| At { place: self.place_of(key), value })
    }

    fn needed(&mut self, key: &'static str) -> Read<At<'a>> {
        self.take(key).ok_or_else(|| format!("{}: missing", self.place_of(key)))
    }

    fn set<T>(
        &mut self,
        key: &'static str,
        field: &mut T,
        read: impl Fn(&At<'a>) -> Read<T>,
    ) -> Read<()> {
        if let Some(at) = self.take(key) {
            *field = read(&at)?;
        }
        Ok(())
    }

    fn names(&mut self, key: &'static str) -> Read<Vec<Name>> {
        self.take(key).map_or(Ok(Vec::new()), |at| at.list(|name| name.name()))
    }

    fn texts(&mut self, key: &'static str) -> Read<Vec<Text>> {
        self.take(key).map_or(Ok(Vec::new()), |at| at.list(|text| text.text()))
    }

    fn place_of(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn close(self) -> Read<()> {
        match self.map.keys().find(|key| !self.taken.contains(&key.as_str())) {
            Some(key) => Err(format!("{}: unknown key", self.place_of(key))),
            None => Ok(()),
        }
    }
}
