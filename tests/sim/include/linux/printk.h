/* SPDX-License-Identifier: GPL-2.0-only */
/* Stand-in: shown with --verbose. */
#ifndef SIM_LINUX_PRINTK_H
#define SIM_LINUX_PRINTK_H

#include <linux/compiler.h>

void sim_printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif
#define KERN_ERR
#define KERN_WARNING
#define KERN_INFO
#define printk(fmt, ...)	sim_printk(fmt, ##__VA_ARGS__)
#define pr_err(fmt, ...)	sim_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn			pr_err
#define pr_info			pr_err
#define pr_notice		pr_err
#define pr_crit			pr_err
#define pr_debug		pr_err
#define pr_err_ratelimited	pr_err
#define pr_warn_ratelimited	pr_err
#define pr_info_ratelimited	pr_err
#define pr_notice_ratelimited	pr_err
#define pr_warn_once		pr_err
#define pr_err_once		pr_err
#define pr_info_once		pr_err

#endif
