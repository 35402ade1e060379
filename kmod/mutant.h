/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Mutants: what the code would be without one of its protections, to see that the
 * tests notice.  "make module MUTANT=name" builds one, "make mutants" tries them
 * all.  In every other build ds_mutant() is 0 and no code comes of it.
 */
#ifndef _DISTSNAP_MUTANT_H
#define _DISTSNAP_MUTANT_H

#ifdef DISTSNAP_MUTANT
#define DS_MUTANT_TEXT_(name)	#name
#define DS_MUTANT_TEXT(name)	DS_MUTANT_TEXT_(name)
#define ds_mutant(name)							\
	(!__builtin_strcmp(DS_MUTANT_TEXT(DISTSNAP_MUTANT), #name))
#else
#define ds_mutant(name)		0
#endif

#endif /* _DISTSNAP_MUTANT_H */
