//! Just enough of `Cargo.toml` to see who depends on whom.

use super::tree::File;

/// A package of the workspace.
pub(crate) struct Manifest<'a> {
    /// The file itself.
    pub(crate) file: &'a File,
    /// Its name.
    pub(crate) package: String,
    /// What it depends on.
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether it takes the lints of the workspace.
    pub(crate) has_lints: bool,
}

/// A line of a dependency table.
pub(crate) struct Dependency {
    /// The name of the package, not of its alias.
    pub(crate) package: String,
    /// Whether only tests, examples and benchmarks see it.
    pub(crate) is_dev: bool,
    /// Where it stands.
    pub(crate) line: usize,
}

/// Reads a manifest; none for a file without a package, or with a workspace of its own.
pub(crate) fn parse(file: &File) -> Option<Manifest<'_>> {
    let mut manifest =
        Manifest { file, package: String::new(), dependencies: Vec::new(), has_lints: false };
    let mut section = String::new();
    let mut depth = 0_i32;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        let inside = depth > 0;
        if let Some(header) = header(line).filter(|_| !inside) {
            section = header.to_owned();
            if section == "workspace" {
                return None;
            }
            if let Some((table, name)) = single(&section) {
                let is_dev = table.ends_with("dev-dependencies");
                let package = unquote(name).to_owned();
                manifest.dependencies.push(Dependency { package, is_dev, line: index + 1 });
            }
            continue;
        }
        for c in line.chars() {
            depth += i32::from(matches!(c, '[' | '{')) - i32::from(matches!(c, ']' | '}'));
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !inside) else {
            continue;
        };
        manifest.take(&section, key.trim(), value.trim(), index + 1);
    }
    (!manifest.package.is_empty()).then_some(manifest)
}

impl Manifest<'_> {
    /// The folder it describes.
    pub(crate) fn folder(&self) -> &str {
        self.file.folder()
    }

    fn take(&mut self, section: &str, key: &str, value: &str, line: usize) {
        if key.starts_with('#') {
            return;
        }
        if section == "package" && key == "name" {
            self.package = unquote(value).to_owned();
        } else if section == "lints" && key == "workspace" {
            self.has_lints = value == "true";
        } else if section.ends_with("dependencies") {
            let alias = key.split('.').next().unwrap_or(key);
            let package = renamed(value).unwrap_or_else(|| unquote(alias)).to_owned();
            let is_dev = section.ends_with("dev-dependencies");
            self.dependencies.push(Dependency { package, is_dev, line });
        } else if single(section).is_some()
            && key == "package"
            && let Some(last) = self.dependencies.last_mut()
        {
            last.package = unquote(value).to_owned();
        }
    }
}

fn header(line: &str) -> Option<&str> {
    let line = line.split(" #").next().unwrap_or(line).trim();
    line.strip_prefix('[')?.strip_suffix(']').filter(|name| !name.starts_with('['))
}

/// `[dependencies.NAME]`, a table for one dependency.
fn single(section: &str) -> Option<(&str, &str)> {
    section.rsplit_once('.').filter(|(table, _)| table.ends_with("dependencies"))
}

/// The real name in `alias = { package = "name" }`.
fn renamed(value: &str) -> Option<&str> {
    let rest = value.split_once("package")?.1.trim_start().strip_prefix('=')?.trim_start();
    rest.strip_prefix('"')?.split('"').next()
}

fn unquote(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::parse;

    fn check(text: &str) -> String {
        let tree = Tree::of(&[("x/Cargo.toml", text)]);
        let Some(manifest) = parse(&tree.files[0]) else {
            return "none".to_owned();
        };
        let mut lines = vec![format!("{} lints={}", manifest.package, manifest.has_lints)];
        for dependency in &manifest.dependencies {
            let kind = if dependency.is_dev { "dev" } else { "own" };
            lines.push(format!("{} {} {}", dependency.line, kind, dependency.package));
        }
        lines.join("\n")
    }

    #[test]
    fn every_way_to_name_a_dependency_is_read() {
        let text = "[package]\nname = \"x\"\n\n[dependencies]\na.workspace = true\n\
            b = { version = \"1\", features = [\n  \"c\",\n] }\nd = { package = \"e\" }\n\
            # f = \"1\"\n[target.'cfg(unix)'.dependencies]\ng = \"1\"\n\
            [dependencies.h]\nversion = \"1\"\n[dev-dependencies] # tests\n\"i\" = \"1\"\n\
            [dev-dependencies.j]\npackage = \"k\"\n[lints]\nworkspace = true\n";
        assert_eq!(
            check(text),
            "x lints=true\n5 own a\n6 own b\n9 own e\n12 own g\n13 own h\n16 dev i\n17 dev k"
        );
    }

    #[test]
    fn workspaces_are_not_packages() {
        assert_eq!(
            check("[workspace]\nmembers = []\n[workspace.dependencies]\na = \"1\"\n"),
            "none"
        );
    }
}
