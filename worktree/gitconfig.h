/*
 * worktree/gitconfig.h - the configuration a private git directory gets
 *
 * Written by us from a list of harmless keys; nothing of the source's file is
 * carried over unread. No credentials, no commands, no includes, no hooks path.
 */
#ifndef WORKTREE_GITCONFIG_H
#define WORKTREE_GITCONFIG_H

struct buf;
struct err;
struct git_repository;
struct repo;

/**
 * gitconfig_build() - The text of the file
 * @worktree:	value for core.worktree (a submodule's), or NULL
 * @out:	appended to
 */
int gitconfig_build(const struct repo *repo, struct git_repository *lg, const char *worktree,
		    struct buf *out, struct err *err);

/**
 * gitconfig_clean_url() - A remote's address without what proves who asks
 *
 * User and password are taken out of http(s) and ftp(s) addresses, as is a
 * query; the password out of others (ssh keeps its user name). An address that
 * names a helper program ("ext::...") has none.
 *
 * Return: caller's to free(); NULL for such an address or when out of memory
 */
char *gitconfig_clean_url(const char *url);

#endif
