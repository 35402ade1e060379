/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DISTSNAP_VERSION_H
#define DISTSNAP_VERSION_H

#define TOOL_VERSION	"0.1"

#endif
