/* SPDX-License-Identifier: GPL-2.0 */
/*
 * long bank_move(long nr, long fd, const void *a, long b, long c,
 *		  _Atomic uint64_t *pos)
 *
 * The C library would carry the result of a call through registers and its
 * stack before the caller could store it.  Here it is in rax until the one
 * instruction that adds it to the position, and fd and pos are in rdi and rbx
 * all the time: an oracle that has the registers knows what was moved.
 */
	.text
	.globl	bank_move, bank_moved, bank_move_done
	.type	bank_move, @function
bank_move:
	.cfi_startproc
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	mov	%r9, %rbx
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	xor	%r8d, %r8d
	xor	%r9d, %r9d
	syscall
bank_moved:
	test	%rax, %rax
	jle	bank_move_done
	add	%rax, (%rbx)
bank_move_done:
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	bank_move, . - bank_move
	.section .note.GNU-stack, "", @progbits
