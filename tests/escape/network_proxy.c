/*
 * The proxy asked for a host that is not allowed, and for odd spellings of one
 * that must never be reached.
 *
 * EXPECT: action=network-outbound target=*blocked.test*
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tests/escape/attack.h"

/* The password of "http://NAME:PASSWORD@HOST", if there is one, as a header. */
static const char *authorization(const char *proxy)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *from = strstr(proxy, "//") + 2, *to = strchr(proxy, '@');
	char text[256];
	size_t n = 0;

	if (!to)
		return "";
	while (from < to && n < sizeof(text) - 5) {
		unsigned long left = (unsigned long)(to - from), v = 0;

		for (int i = 0; i < 3; i++)
			v = v << 8 | (from + i < to ? (unsigned char)from[i] : 0);
		for (int i = 0; i < 4; i++)
			text[n++] = i <= (int)left ? digits[v >> (18 - 6 * i) & 63] : '=';
		from += 3;
	}
	text[n] = 0;
	return spell("Proxy-Authorization: Basic %s\r\n", text);
}

/* Ask the proxy of the environment to connect; 0 if it said 200. */
static long ask(const char *target)
{
	const char *proxy = getenv("HTTPS_PROXY") ? getenv("HTTPS_PROXY") : getenv("https_proxy");
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct timeval patience = { 5, 0 };
	char host[64], answer[256];
	int port = 0, status = 0, fd = socket(AF_INET, SOCK_STREAM, 0);
	const char *line;
	ssize_t n;

	if (!proxy || sscanf(strchr(proxy, '@') ? strchr(proxy, '@') + 1 : strstr(proxy, "//") + 2, "%63[^:]:%d", host, &port) != 2)
		unavailable("the run has no proxy that can be read from its environment");
	line = spell("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, target, authorization(proxy));
	at.sin_port = htons((unsigned short)port);
	inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &at.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		works(-1, "connect to the proxy");
		return -1;
	}
	n = write(fd, line, strlen(line)) < 0 ? 0 : read(fd, answer, sizeof(answer) - 1);
	close(fd);
	answer[n < 0 ? 0 : n] = 0;
	errno = EACCES;
	works(sscanf(answer, "HTTP/1.%*c %d", &status) == 1 ? 0 : -1, "read the proxy's answer");
	return status >= 200 && status < 300 ? 0 : -1;
}

int main(void)
{
	const char *port = told("ATTACK_PORT");

	attack_begin();
	refused(ask("blocked.test:443"), "reach blocked.test");
	refused(ask("blocked.test.:443"), "reach it with a dot");
	refused(ask(spell("127.0.0.1:%s", port)), "reach the host's loopback");
	refused(ask(spell("localhost:%s", port)), "reach it by name");
	refused(ask(spell("2130706433:%s", port)), "reach it as a number");
	refused(ask(spell("0x7f.1:%s", port)), "reach it in hexadecimal");
	refused(ask(spell("[::ffff:127.0.0.1]:%s", port)), "reach it as a mapped address");
	refused(ask(spell("0.0.0.0:%s", port)), "reach it as no address");
	return attack_end();
}
