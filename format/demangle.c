// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The demangler is the compiler's own, from libsupc++.a, which is linked in whatever else is
 * static or not: it needs nothing but libc. Of its two doors the one with a callback is used.
 * It allocates nothing, and it can be left in the middle: __cxa_demangle would go on until
 * memory is used up by a name that was made to.
 */
#include "demangle.h"

#include <ctype.h>
#include <setjmp.h>
#include <string.h>

#ifdef HAVE_DEMANGLE

extern int __gcclibcxx_demangle_callback(const char *name,
					 void (*put)(const char *, size_t, void *), void *arg);

struct text {
	char *bytes;
	size_t n;
	jmp_buf full;
};

static void put(const char *bytes, size_t n, void *arg)
{
	struct text *t = arg;

	if (n >= DEMANGLED_MAX - t->n)
		longjmp(t->full, 1);
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

/* "core::fmt::write::h0123456789abcdef": Rust ends its names with a hash. */
static void drop_rust_hash(char *text, size_t n)
{
	if (n < 20 || strncmp(text + n - 19, "::h", 3) != 0 ||
	    strspn(text + n - 16, "0123456789abcdef") != 16)
		return;
	text[n - 19] = '\0';
}

bool demangle(const char *name, char text[DEMANGLED_MAX])
{
	struct text t = { .bytes = text };

	text[0] = '\0';
	if (strncmp(name, "_Z", 2) != 0 || strlen(name) > MANGLED_MAX)
		return false;
	if (setjmp(t.full) || __gcclibcxx_demangle_callback(name, put, &t) != 0) {
		text[0] = '\0';
		return false;
	}
	text[t.n] = '\0';
	drop_rust_hash(text, t.n);
	return true;
}

bool demangle_possible(void)
{
	return true;
}

#else

bool demangle(const char *name, char text[DEMANGLED_MAX])
{
	(void)name;
	text[0] = '\0';
	return false;
}

bool demangle_possible(void)
{
	return false;
}

#endif

/* After "operator", where brackets are letters: "operator()", "operator<<", "operator->". */
static const char *skip_operator(const char *p)
{
	static const char signs[] = "<>=!+-*/%^&|~,";
	const char *begin = p;

	if (strncmp(p, "()", 2) == 0 || strncmp(p, "[]", 2) == 0)
		return p + 2;
	p += strspn(p, signs);
	if (p > begin)
		return p + (p[0] == ' ' && p[1] == '<'); /* "operator< <int>" */
	/* "operator new[]", "operator bool", "operator char const*": up to the parameters */
	return *p == ' ' ? p + strcspn(p, "(") : p;
}

static bool starts_word(const char *text, const char *p)
{
	return p == text || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
}

/* A bracket that is a part of the name: "(anonymous namespace)", "f(int)::{lambda()#1}". */
static bool goes_on(const char *closing)
{
	return strncmp(closing, ")::", 3) == 0 || strncmp(closing, ") const::", 9) == 0;
}

void demangle_bare(char *text)
{
	static const char word[] = "operator";
	const char *p = text, *name = text, *open = NULL;
	int depth = 0;
	size_t n;

	while (*p) {
		if (strncmp(p, word, sizeof(word) - 1) == 0 && starts_word(text, p)) {
			p = skip_operator(p + sizeof(word) - 1);
			continue;
		}
		if (*p == '(' && depth == 0 && !open)
			open = p;
		if (strchr("(<{[", *p))
			depth++;
		if (strchr(")>}]", *p) && depth > 0)
			depth--;
		if (*p == ')' && depth == 0 && goes_on(p))
			open = NULL;
		if (*p == ' ' && depth == 0 && !open)
			name = p + 1; /* after the type that it returns */
		p++;
	}
	n = (open ? open : p) - name;
	memmove(text, name, n);
	text[n] = '\0';
}
