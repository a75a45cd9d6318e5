/*
 * Programs whose work is to ask other hosts.
 */
#include <string.h>

#include "gates/options.h"

#define ASKS_NET .class = EFFECT_NETWORK_EGRESS, .weight = CHANGES, .why = "asks the network"

/* curl: what goes to files, and local files that are sent. */
static void check_curl(struct judge *j, struct parsed *p)
{
	for (size_t i = 0; i < p->operands.n; i++) {
		struct arg a = p->operands.v[i];

		if (!strncmp(a.text, "file://", 7)) {
			a.text += 7;
			judge_path(j, p->who, &a, USE_READ);
		}
	}
	for (size_t i = 0; i < p->n_opts; i++) {
		struct arg a = p->opts[i].value;
		const char *at = p->opts[i].has_value && a.text ? strchr(a.text, '@') : NULL;
		bool sends = strchr("dFT", *p->opts[i].name) && p->opts[i].len == 1;

		if (!strncmp(p->opts[i].name, "data", 4) || !strncmp(p->opts[i].name, "form", 4) ||
		    !strncmp(p->opts[i].name, "upload", 6))
			sends = true;
		if (!sends || !p->opts[i].has_value)
			continue;
		if (at)
			a.text = at + 1;
		else if (*p->opts[i].name != 'T' && strncmp(p->opts[i].name, "upload", 6))
			continue;
		if (strcmp(a.text, "-"))
			judge_path(j, p->who, &a, USE_READ);
	}
}

static const char curl_options[] =
	"-0123456789aBfgGiIjJklLMnNOpqRsSvVZ# -A:- -b:- -c:W -C:- -d:- -D:W -e:- -E:- -F:- -h? -H:- -K:C "
		"-m:- -o:W -P:- -Q:- -r:- -t:- -T:- -u:- -U:- -w:- -x:- -X:- -y:- -Y:- -z:- --append "
		"--basic --cacert:R --capath:L --cert:R --ciphers:- --compressed --config:C "
		"--connect-timeout:- --connect-to:- --cookie:- --cookie-jar:W --create-dirs --data:- "
		"--data-ascii:- --data-binary:- --data-raw:- --data-urlencode:- --digest --dump-header:W "
		"--fail --fail-early --fail-with-body --form:- --form-string:- --get --globoff --head "
		"--header:- --http1.0 --http1.1 --http2 --http3 --include --insecure --interface:- --ipv4 "
		"--ipv6 --json:- --key:R --limit-rate:- --location --location-trusted --max-filesize:- "
		"--max-redirs:- --max-time:- --negotiate --netrc --netrc-file:R --no-buffer "
		"--no-keepalive --no-progress-meter --noproxy:- --oauth2-bearer:- --output:W "
		"--output-dir:W --parallel --path-as-is --post301 --post302 --post303 --progress-bar "
		"--proto:- --proxy:- --proxy-user:- --pubkey:R --range:- --raw --referer:- "
		"--remote-header-name --remote-name --remote-name-all --remote-time --request:- "
		"--request-target:- --resolve:- --retry:- --retry-all-errors --retry-connrefused "
		"--retry-delay:- --retry-max-time:- --show-error --silent --socks5:- --socks5-hostname:- "
		"--ssl-reqd --stderr:W --tcp-nodelay --tlsv1.2 --tlsv1.3 --trace:W --trace-ascii:W "
		"--trace-time --unix-socket:L --upload-file:- --url:- --user:- --user-agent:- --verbose "
		"--write-out:- --xattr --next --time-cond:- --abstract-unix-socket:- --doh-url:- "
		"--dns-servers:-";

static const char wget_options[] =
	"-bcdEFHkKLmNpqrSvx46 -a:W -A:- -B:- -D:- -e:C -i:R -l:- -n:- -o:W -O:W -P:W -Q:- -R:- -t:- -T:- "
		"-U:- -w:- -X:- -I:- --append-output:W --background --base:- --body-data:- --body-file:R "
		"--ca-certificate:R --config:C --content-disposition --continue --convert-links --debug "
		"--directory-prefix:W --execute:C --force-directories --header:- --input-file:R --level:- "
		"--limit-rate:- --load-cookies:R --max-redirect:- --method:- --mirror --no-cache "
		"--no-check-certificate --no-clobber --no-cookies --no-directories --no-host-directories "
		"--no-parent --no-proxy --no-verbose --output-document:W --output-file:W "
		"--page-requisites --password:- --post-data:- --post-file:R --progress:- --quiet "
		"--quota:- --recursive --referer:- --reject:- --restrict-file-names:- --retry-connrefused "
		"--save-cookies:W --save-headers --server-response --show-progress --spider --timeout:- "
		"--timestamping --tries:- --user:- --user-agent:- --verbose --wait:- --use-askpass:C "
		"--accept:- --span-hosts --adjust-extension";

const struct program table_net[] = {
	ROW("curl", curl_options, "N*", .check = check_curl, ASKS_NET),
	ROW("wget", wget_options, "N*", ASKS_NET),
	{ .name = "ssh|scp|sftp|rsync|ftp|lftp|telnet|nc|ncat|netcat|socat|mosh|ssh-copy-id|ssh-keyscan|"
		"sshpass|autossh|aria2c|axel|http|https|httpie|xh|hurl|websocat|grpcurl|wscat|ping|ping6|"
		"traceroute|tracepath|mtr|dig|host|nslookup|whois|nmap|arp|arping|tcpdump|tshark|iperf|"
		"iperf3|mail|mailx|sendmail|msmtp|mutt|rclone|croc|wormhole|ngrok|cloudflared|tailscale|"
		"w3m|lynx|links|elinks|youtube-dl|yt-dlp|speedtest|bluetoothctl|nmcli|psql|pg_dump|"
		"pg_restore|createdb|dropdb|mysql|mysqldump|mysqladmin|mariadb|redis-cli|mongo|mongosh|"
		"mongodump|mongorestore|influx|cqlsh|clickhouse|clickhouse-client|kafkacat|kcat|"
		"mosquitto_pub|mosquitto_sub",
	  ASKS_NET },
	{ .name = "ssh-keygen|ssh-add|ssh-agent|gpg|gpg2|gpg-agent|gpgconf|pass|secret-tool|keyctl|"
		"security|age|age-keygen|op|bw|vault|sops|step|certbot|mkcert",
	    .class = EFFECT_SECRET_ACCESS, .weight = CHANGES,
	  .why = "handles keys and credentials" },
	{ 0 }
};
