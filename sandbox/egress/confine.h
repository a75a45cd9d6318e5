/*
 * sandbox/egress/confine.h - what the helper gives up before it hears outside bytes
 */
#ifndef SANDBOX_EGRESS_CONFINE_H
#define SANDBOX_EGRESS_CONFINE_H

struct err;

/**
 * confine_start() - Before anything else: descriptors, signals, limits, no dumps
 * @keep_fd:	the one descriptor above 2 that stays open
 *
 * Should: be the first thing the process does. Mustn't: be followed by exec.
 * Return: 0, or -1 with @err
 */
int confine_start(int keep_fd, struct err *err);

/**
 * confine_serve() - After the configuration was read, before the first connection
 *
 * Should: take away all that serving does not need. Name look-ups still read
 * /etc and load libraries of the C library, so files stay readable for now.
 * Return: 0, or -1 with @err
 */
int confine_serve(struct err *err);

#endif
