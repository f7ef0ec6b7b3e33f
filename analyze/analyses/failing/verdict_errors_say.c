// SPDX-License-Identifier: GPL-2.0-or-later
/* The finding of answers that report errors, or end early, more often in a time range. */
#include "verdict_failing.h"

#include "analyze/analyses/verdict/verdict_names.h"
#include "analyze/store/error_names.h"

int verdict_errors_say(struct analysis_ctx *c, const struct judged *j, enum severity severity,
		       s64 *ret_id, struct err *e)
{
	const struct verdict_errors *m = &j->more;
	bool named = verdict_errors_named(m);
	const struct value values[] = {
		VALUE_NUMBER("start", m->start, "at"),
		VALUE_NUMBER("end", verdict_errors_until(j), "at"),
		VALUE_NUMBER("share", named ? percent(m->name_n, m->name_of) : m->share, "%"),
		VALUE_NUMBER("baseline", named && !(m->again > 0) ? m->name_before : m->before,
			     "%"),
		VALUE_NUMBER("n", named ? m->name_n : m->n, ""),
		VALUE_NUMBER("of", named ? m->name_of : NAN, ""),
		VALUE_NUMBER("first", named && m->first < m->start - j->width ? m->first : NAN,
			     "at"),
		VALUE_NUMBER("more", named && m->n > m->name_n ? m->n - m->name_n : NAN, ""),
		VALUE_TEXT("code", m->code.len ? m->code.data : NULL),
		VALUE_TEXT("meaning", error_name(m->code.data)),
		VALUE_NUMBER("failed_logins", m->logins > 0 ? m->n : NAN, ""),
		VALUE_NUMBER("logins", m->logins > 0 ? m->logins : NAN, ""),
		VALUE_NUMBER("again", m->again > 0 ? m->again : NAN, ""),
		VALUE_NUMBER("again_n", m->again_n, ""),
		VALUE_NUMBER("again_end", m->again_end, "at"),
		VALUE_NUMBER("slower", j->slower_from, "at"),
		VALUE_NUMBER("slower_end", verdict_until(j, j->slower_to), "at"),
		VALUE_NUMBER("slower_ratio", j->slower_ratio, "x"),
		VALUE_MAYBE("name", request_name, m->name),
		VALUE_NUMBER("cut", m->cut > 0 ? m->cut : NAN, "bytes"),
		VALUE_NUMBER("complete", m->cut > 0 ? m->complete : NAN, "bytes"),
		VALUE_MAYBE("upstream", upstream, m->upstream),
		VALUE_NUMBER("kept", m->kept > 0 ? m->kept : NAN, ""),
		VALUE_NUMBER("wait", m->kept > 0 ? m->waited : NAN, "ns"),
		{ 0 },
	};
	enum finding_kind kind = m->kept > 0  ? FINDING_verdict_cut_own
				 : m->cut > 0 ? FINDING_verdict_cut
				 : m->refused ? FINDING_verdict_refused
				 : named      ? FINDING_verdict_errors_name
					      : FINDING_verdict_errors;
	const struct finding f = {
		kind, severity, OBSERVED, j->about, "SELECT * FROM request_error", values, 0
	};
	int ret = finding_put(c->db, c->analysis->name, &f, ret_id, e);

	return ret == 0 && severity == WARNING ? verdict_calls_say(c, j, 0, e) : ret;
}
