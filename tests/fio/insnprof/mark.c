// SPDX-License-Identifier: GPL-2.0-only
/* Runs the instruction that insnprof.c waits for: prefetchnta 0x12345678(%rax). */
int main(void)
{
	__asm__ volatile(".byte 0x0f,0x18,0x80,0x78,0x56,0x34,0x12" : : "a"(0));
	return 0;
}
