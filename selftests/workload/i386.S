/* SPDX-License-Identifier: GPL-2.0 */
/* A 32-bit process, which waits. */
	.globl _start
_start:
	movl	$29, %eax		/* pause */
	int	$0x80
	jmp	_start

	.section .note.GNU-stack, "", @progbits
