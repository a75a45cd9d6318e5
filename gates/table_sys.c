/*
 * Service managers, containers, clouds, databases in files: what reaches past
 * the run.
 */
#include <string.h>

#include "gates/options.h"

/* --- systemd --- */

static bool in_words(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

static const char systemctl_reads[] =
	"status show cat list-units list-unit-files list-sockets list-timers list-jobs list-dependencies "
		"list-machines is-active is-enabled is-failed is-system-running get-default "
		"show-environment help";

static void check_systemctl(struct judge *j, struct parsed *p)
{
	const struct arg *verb = p->operands.n ? &p->operands.v[0] : NULL;

	if (!verb || (verb->is_known && in_words(systemctl_reads, verb->text)))
		return;
	judge_note(j, verb, EFFECT_ENCLOSURE_CONTROL, PLACE_NONE, p->who, REFUSED, "deny list",
		   "'%s %s' has the service manager act outside the run", p->who, verb->text);
}

/* --- containers --- */

/* The host side of -v SRC:DST or --mount ...src=SRC,...: all of the host, or the daemon's own door. */
static bool mounts_host(struct judge *j, const char *spec)
{
	const char *src = strstr(spec, "source=") ? strstr(spec, "source=") + 7
			  : strstr(spec, "src=")  ? strstr(spec, "src=") + 4
						  : spec;
	const char *path;
	size_t n = strcspn(src, ":,");

	if (src[0] != '/')
		return false;
	path = place_resolve(j->arena, "/", arena_dup(j->arena, src, n));
	if (j->req->workspace && !strcmp(path, j->req->workspace))
		return false;
	return place_is_root(j->req, path) || strstr(path, "docker.sock") || !strncmp(path, "/etc", 4) ||
	       !strncmp(path, "/var/run", 8);
}

static const char *const shared_with_host[] = {
	"--privileged", "--pid=host", "--ipc=host", "--userns=host", "--uts=host", "--cgroupns=host",
	"--cap-add=ALL",
	"--cap-add=SYS_ADMIN", "--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined", NULL
};

static bool breaks_out(struct judge *j, const struct args *words, size_t i)
{
	const struct arg *a = &words->v[i];
	const char *next = i + 1 < words->n ? words->v[i + 1].text : "";
	const char *eq = strchr(a->text, '=');

	for (const char *const *s = shared_with_host; *s; s++)
		if (!strcmp(a->text, *s) || (strchr(*s, '=') && !strncmp(a->text, *s, strcspn(*s, "=")) &&
					     !eq && !strcmp(strchr(*s, '=') + 1, next)))
			return true;
	if (!strncmp(a->text, "--privileged=", 13) && strcmp(eq, "=false"))
		return true;
	if (!strcmp(a->text, "-v") || !strcmp(a->text, "--volume") || !strcmp(a->text, "--mount"))
		return mounts_host(j, next);
	if (!strncmp(a->text, "--volume=", 9) || !strncmp(a->text, "--mount=", 8))
		return mounts_host(j, eq + 1);
	/* a cluster: -itv/:/host */
	if (a->text[0] == '-' && a->text[1] != '-' && strchr(a->text, 'v')) {
		const char *v = strchr(a->text, 'v') + 1;

		return mounts_host(j, *v ? v : next);
	}
	return false;
}

static void check_docker_run(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++)
		if (breaks_out(j, &p->operands, i))
			judge_note(j, &p->operands.v[i], EFFECT_ENCLOSURE_CONTROL, PLACE_NONE, p->who,
				   REFUSED, "deny list", "'%s %s' opens the host to a container", p->who,
				   p->operands.v[i].text);
}

/* --- sqlite3 --- */

static const char *const sql_writers[] = {
	"writefile", "load_extension", "edit(", "fts3_tokenizer", "attach", "insert", "update", "delete",
	"drop", "create",
	"replace", "vacuum", "reindex", "alter", "pragma", "analyze", "begin", "commit", "detach", "readfile",
	  NULL
};

static const char sql_dots[] = ".tables .schema .indexes .indices .databases .fullschema .headers .header "
		".mode .width .show .help .dump .nullvalue .separator .quit .exit .bail .echo .stats "
		".timer .eqp";

static bool sql_only_reads(const char *sql)
{
	sql += strspn(sql, " \t\n");
	if (*sql == '.') {
		char verb[32];
		size_t n = strcspn(sql, " \t\n");

		if (n >= sizeof(verb) || strchr(sql, '\n'))
			return false;
		memcpy(verb, sql, n);
		verb[n] = '\0';
		return in_words(sql_dots, verb) && !strchr(sql, '|');
	}
	if (strncasecmp(sql, "select", 6) && strncasecmp(sql, "with", 4) && strncasecmp(sql, "explain", 7) &&
	    strncasecmp(sql, "values", 6))
		return false;
	for (const char *const *w = sql_writers; *w; w++)
		if (strcasestr(sql, *w))
			return false;
	return !strstr(sql, "\n.");
}

/* "file:PATH?mode=ro": the path alone is left; true when it says so. A path with escapes stays as it is. */
static bool strip_uri(struct judge *j, struct arg *file)
{
	const char *query = file->is_known && !strncmp(file->text, "file:", 5) ? strchr(file->text, '?') : NULL;

	if (!query || (strcmp(query, "?mode=ro") && strcmp(query, "?immutable=1")) || strchr(file->text, '%') ||
	    strchr(file->text, '#') || !strncmp(file->text + 5, "//", 2))
		return false;
	file->text = arena_dup(j->arena, file->text + 5, (size_t)(query - file->text - 5));
	return true;
}

static void check_sqlite(struct judge *j, struct parsed *p)
{
	bool is_memory = p->operands.n && arg_is(&p->operands.v[0], ":memory:");
	bool is_readonly = opt_has(p, "readonly");

	if (p->operands.n && !is_memory) {
		struct arg file = p->operands.v[0];

		is_readonly |= strip_uri(j, &file);
		judge_path(j, p->who, &file, USE_READ);
	}
	/* Even a question makes the file where there is none. */
	if (!is_readonly && !is_memory)
		judge_note(j, p->name, EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, p->who, CHANGES, "write",
			   "'%s' can make the file it opens, without -readonly", p->who);
	if (p->operands.n < 2)
		judge_unknown(j, p->who, p->name, "runs what it reads from standard input");
	for (size_t i = 1; i < p->operands.n; i++)
		if (!p->operands.v[i].is_known || !sql_only_reads(p->operands.v[i].text))
			judge_note(j, &p->operands.v[i], EFFECT_WORKSPACE_MUTATION, PLACE_INSIDE, p->who,
				   CHANGES, "write", "'%s' is given more than a plain query", p->who);
}

/* --- crontab, and how the system is set up --- */

static void check_crontab(struct judge *j, struct parsed *p)
{
	if (p->operands.n == 1 && arg_is(&p->operands.v[0], "-l"))
		return;
	judge_note(j, p->name, EFFECT_ENCLOSURE_CONTROL, PLACE_NONE, p->who, REFUSED, "deny list",
		   "'%s' has commands run outside the run", p->who);
}

/* sysctl, ldconfig, update-alternatives and kin also tell. */
static bool only_tells(const struct parsed *p)
{
	static const char tells[] = "-p -a -l -L -S --list --display --query --all --print-cache --status";
	bool is_sysctl = !strcmp(p->who, "sysctl");

	if (!p->operands.n)
		return in_words("mount sysctl losetup iptables ip6tables nft", p->who);
	for (size_t i = 0; i < p->operands.n; i++) {
		const struct arg *a = &p->operands.v[i];

		if (!a->is_known || strchr(a->text, '=') || !strcmp(a->text, "-w") ||
		    (is_sysctl && !strcmp(a->text, "-p")))
			return false;
	}
	return is_sysctl || in_words(tells, p->operands.v[0].text);
}

static void check_setup(struct judge *j, struct parsed *p)
{
	if (!only_tells(p))
		judge_note(j, p->name, EFFECT_ENCLOSURE_CONTROL, PLACE_NONE, p->who, REFUSED, "deny list",
			   "'%s' changes how the system is set up", p->who);
}

/* "aws ec2 terminate-instances" */
static bool begins_write(const char *word)
{
	static const char *const heads[] = {
		"delete-", "terminate-", "put-", "create-", "update-", "modify-", "stop-", "reboot-", "remove-",
		"detach-", "attach-", "run-", NULL
	};

	for (const char *const *h = heads; *h; h++)
		if (!strncmp(word, *h, strlen(*h)))
			return true;
	return false;
}

/* kubectl and terraform: which verbs change something elsewhere. */
static void check_cloud(struct judge *j, struct parsed *p)
{
	static const char writes[] = "apply create delete destroy edit patch replace scale rollout drain "
		"cordon uncordon taint label annotate expose run set autoscale import taint untaint "
		"install upgrade uninstall rollback push deploy publish up promote release rm rb mb mv sync";

	for (size_t i = 0; i < p->operands.n && i < 4; i++) {
		if (p->operands.v[i].text[0] == '-')
			continue;
		/* "aws configure set" keeps it here */
		if (!strncmp(p->operands.v[i].text, "config", 6))
			return;
		if (in_words(writes, p->operands.v[i].text) || begins_write(p->operands.v[i].text)) {
			judge_note(j, p->name, EFFECT_VENDOR_SYNC_WRITE, PLACE_NONE, p->who, ASKS, "ask list",
				   "'%s %s' changes something elsewhere", p->who, p->operands.v[i].text);
			return;
		}
	}
}

static const char openssl_options[] =
	"= --in:R --out:W --noout --text --inform:- --outform:- --subject --issuer --dates --enddate "
	"--startdate --fingerprint --serial --pubkey --modulus --hash --sha256 --sha1 --sha384 --sha512 "
	"--md5 --purpose --ext:- --nameopt:- --checkend:- --CAfile:R --CApath:L --verbose --hex --base64 "
	"--r --d --e --a --A --check --pubin --pubout --email --alias --v --b --f";

const struct program table_sys[] = {
	/* services */
	ROW("systemctl", "+ -a -l -q -r -t:- -n:- -p:- -o:- -H:U -M:U --user --system --all --full "
		"--no-pager --no-legend --plain --quiet --type:- --state:- --property:- --value --lines:- "
		"--output:- --failed --recursive --now --force --host:U --machine:U --root:U --no-block "
		"--wait --runtime --signal:- --kill-whom:-", "-*",
	    .check = check_systemctl),
	ROW("journalctl", "-aefkmqrxN -b? -c:- -D:L -F:- -g:- -n? -o:- -p:- -S:- -t:- -u:- -U:- --all "
		"--boot? --catalog --directory:L --dmesg --file:R --follow --full --grep:- --identifier:- "
		"--lines? --list-boots --no-pager --no-full --no-hostname --no-tail --output:- "
		"--output-fields:- --priority:- --quiet --reverse --since:- --system --unit:- --until:- "
		"--user --user-unit:- --utc --disk-usage --header --pager-end --fields --field:-", "-*"),
	{ .name = "systemd-run|busctl|gdbus|dbus-send|qdbus|machinectl|loginctl|systemd-cat|"
		"systemd-notify|systemd-socket-activate|systemd-mount|systemd-umount|portablectl|homectl|"
		"at|batch|atrm|launchctl|initctl",
	  .class = EFFECT_ENCLOSURE_CONTROL, .weight = REFUSED, .why = "has a service act outside the run" },
	{ .name = "crontab", .check = check_crontab },
	{ .name = "mount|umount|fusermount|fusermount3|losetup|modprobe|insmod|rmmod|sysctl|iptables|"
		"ip6tables|nft|ufw|dmsetup|mdadm|kexec|swapctl|setenforce|auditctl|bpftool|useradd|"
		"userdel|usermod|groupadd|groupdel|passwd|chpasswd|visudo|update-alternatives|ldconfig|"
		"dpkg-reconfigure|update-grub|grub-install",
	  .check = check_setup },
	{ .name = "service|rc-service|rc-update|update-rc.d|chkconfig|supervisorctl|pm2|hostnamectl|"
		"timedatectl|localectl|resolvectl|networkctl|udevadm|dmesg",
	    .class = EFFECT_ENCLOSURE_CONTROL, .weight = CHANGES,
	  .why = "speaks to a service" },
	{ .name = "xdg-open|gio|notify-send|pkill|killall|skill|fuser|renice|tmux|screen|zellij|dtach|abduco|nq|daemonize|"
		"start-stop-daemon|tset|reset",
	  .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why = "acts on other processes" },

	/* containers and clouds */
	ROW("docker|podman|nerdctl", "+ -H:- -c:- -l:- -D --host:- --context:- --config:- --log-level:- "
		"--debug --tls --tlsverify --tlscacert:- --tlscert:- --tlskey:- --url:- --connection:- "
		"--remote --root:- --namespace:-",
	    OPERANDS_SUB, .class = EFFECT_ENCLOSURE_CONTROL, .weight = CHANGES, .why = "has a daemon act"),
	ROW("docker container|podman container|nerdctl container", "+", OPERANDS_SUB,
	    .class = EFFECT_ENCLOSURE_CONTROL,
	    .weight = CHANGES, .why = "has a daemon act"),
	{ .name = "docker run|podman run|nerdctl run|docker container run|podman container run|"
		"docker create|podman create|docker container create", .check = check_docker_run,
	    .class = EFFECT_ENCLOSURE_CONTROL, .weight = ASKS,
	  .why = "starts a container" },
	{ .name = "docker push|podman push|docker image push|docker manifest push|docker login|"
		"podman login",
	  .class = EFFECT_VENDOR_SYNC_WRITE, .weight = ASKS, .why = "publishes to a registry" },
	{ .name = "docker exec|podman exec|docker container exec", .check = check_docker_run,
	    .class = EFFECT_ENCLOSURE_CONTROL,
	  .weight = CHANGES, .why = "has a daemon act" },
	{ .name = "kubectl|oc|helm|terraform|tofu|pulumi|ansible|ansible-playbook|aws|gcloud|az|gsutil|"
		"doctl|flyctl|fly|heroku|vercel|netlify|wrangler|firebase|serverless|sls|eb|cdk|sam|nomad|"
		"consul|packer|vagrant|minikube|kind|k3d|skaffold|argocd|flux|eksctl|ibmcloud|oci|"
		"linode-cli|hcloud|railway|supabase|stripe|sentry-cli",
	  .check = check_cloud, .class = EFFECT_ENCLOSURE_CONTROL, .weight = CHANGES, .why =
		"speaks to a service elsewhere" },
	{ .name = "docker-compose|podman-compose|buildah|skopeo|ctr|crictl|lxc|incus|virsh|virt-install|"
		"qemu-system-x86_64|qemu-img|VBoxManage|multipass|limactl|colima|distrobox|toolbox|"
		"flatpak|snap",
	  .class = EFFECT_ENCLOSURE_CONTROL, .weight = CHANGES, .why = "has a daemon or a machine act" },

	/* files with a language of their own */
	ROW("sqlite3", "= --readonly --json --csv --header --noheader --line --list --table --box "
		"--markdown --column --html --quote --tabs --batch --bail --safe --separator:- "
		"--nullvalue:- --newline:- --echo --interactive --stats", "-*", .check = check_sqlite),
	ROW("openssl", "+", OPERANDS_SUB, .class = EFFECT_PROCESS_SPAWN, .weight = CHANGES, .why =
		"handles keys and certificates"),
	ROW("openssl x509|openssl crl|openssl req|openssl asn1parse|openssl verify|openssl dgst|"
		"openssl rand|openssl base64|openssl md5|openssl sha256|openssl sha1|openssl sha512",
	    openssl_options, "R*"),
	{ .name = "openssl version|openssl list|openssl ciphers|openssl help" },
	{ 0 }
};
