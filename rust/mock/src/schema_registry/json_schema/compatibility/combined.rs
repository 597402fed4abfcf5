//! Sums and products: members are matched with members that permit what they do.
//!
//! Invariant: a member is matched with at most one member of the other schema, so a sum never loses one unnoticed.

use super::super::super::difference::Difference;
use super::Comparison;
use super::shape::Shape;

impl Comparison {
    /// Compares schemas of which one at least is a sum or product.
    pub(super) fn compare_combined(&mut self, old: &Shape<'_>, new: &Shape<'_>, at: &str) -> Vec<Difference> {
        let changed = |kind: &str, reason: &str| vec![Difference::new(kind, at, reason)];
        let (members, others) = match (old.members(), new.members()) {
            (Some(members), Some(others)) => (members, others),
            // One member is as good as the schema itself.
            (None, Some(members)) => {
                let is_choice = matches!(new, Shape::Sum { .. }) || members.len() == 1;
                let fits =
                    is_choice && members.iter().any(|member| self.compare_shapes(old, member, at).is_empty());
                return match fits {
                    true => Vec::new(),
                    false => changed("TYPE_CHANGED", "no member of the sum or product permits it"),
                };
            }
            (Some(members), _) => {
                let is_choice = matches!(old, Shape::Product(_)) || members.len() == 1;
                let fits =
                    is_choice && members.iter().any(|member| self.compare_shapes(member, new, at).is_empty());
                return match fits {
                    true => Vec::new(),
                    false => changed("TYPE_CHANGED", "it permits less than the members did"),
                };
            }
            (None, None) => return changed("TYPE_CHANGED", "values of another kind are expected"),
        };
        if !may_become(old, new) {
            return changed("COMBINED_TYPE_CHANGED", "its members are combined in another way");
        }
        let mut found = self.compare_members(members, others, at);
        match (old, new) {
            (Shape::Sum { .. }, _) if members.len() > others.len() => {
                found.push(Difference::new("SUM_TYPE_NARROWED", at, "it has fewer members"));
            }
            (_, Shape::Product(_)) if members.len() < others.len() => {
                found.push(Difference::new("PRODUCT_TYPE_EXTENDED", at, "it has more members"));
            }
            _ => {}
        }
        found
    }

    /// Compares members: each of the smaller list must have a partner of its own.
    fn compare_members(&mut self, old: &[Shape<'_>], new: &[Shape<'_>], at: &str) -> Vec<Difference> {
        let mut fits = Vec::with_capacity(old.len());
        for (number, member) in old.iter().enumerate() {
            let at = format!("{at}/{number}");
            let mut row = Vec::new();
            for (other_number, other) in new.iter().enumerate() {
                if self.compare_shapes(member, other, &at).is_empty() {
                    row.push(other_number);
                }
                if self.is_exhausted() {
                    return vec![Difference::too_large(&at)];
                }
            }
            fits.push(row);
        }
        if matched(&fits, new.len()) == old.len().min(new.len()) {
            return Vec::new();
        }
        let reason = "members changed so that none permits what one did";
        vec![Difference::new("COMBINED_TYPE_SUBSCHEMAS_CHANGED", at, reason)]
    }
}

/// Whether the new way to combine members permits what the old one did.
fn may_become(old: &Shape<'_>, new: &Shape<'_>) -> bool {
    let is_single = |shape: &Shape<'_>| shape.members().is_some_and(|members| members.len() == 1);
    match (old, new) {
        (_, Shape::Sum { is_exclusive: false, .. }) | (Shape::Product(_), Shape::Product(_)) => true,
        (Shape::Sum { is_exclusive, .. }, Shape::Sum { .. }) => *is_exclusive || is_single(old),
        (Shape::Product(_), _) => is_single(old) || is_single(new),
        _ => is_single(old) && is_single(new),
    }
}

/// The largest number of members that can have partners of their own, given those that fit each.
fn matched(fits: &[Vec<usize>], others: usize) -> usize {
    let mut partners = vec![None; others];
    (0..fits.len()).filter(|member| find_partner(*member, fits, &mut partners)).count()
}

/// Finds a partner for a member, whose partner may find another one: a search in breadth, without recursion.
fn find_partner(member: usize, fits: &[Vec<usize>], partners: &mut [Option<usize>]) -> bool {
    let fitting = |member: usize| fits.get(member).map_or(&[][..], Vec::as_slice);
    // From which member each partner was reached.
    let mut reached: Vec<Option<usize>> = vec![None; partners.len()];
    let mut waiting = vec![member];
    while let Some(next) = waiting.pop() {
        for &partner in fitting(next) {
            let Some(from) = reached.get_mut(partner).filter(|from| from.is_none()) else { continue };
            *from = Some(next);
            match partners.get(partner).copied().flatten() {
                Some(taken) => waiting.push(taken),
                None => {
                    hand_over(member, partner, &reached, partners);
                    return true;
                }
            }
        }
    }
    false
}

/// Gives each member on the way from `member` to a free partner the next one.
fn hand_over(member: usize, free: usize, reached: &[Option<usize>], partners: &mut [Option<usize>]) {
    let mut partner = free;
    while let Some(from) = reached.get(partner).copied().flatten() {
        let previous = partners.iter().position(|owner| *owner == Some(from));
        if let Some(place) = partners.get_mut(partner) {
            *place = Some(from);
        }
        match previous {
            Some(previous) if from != member => partner = previous,
            _ => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matched;

    #[test]
    fn partners_are_exchanged() {
        assert_eq!(matched(&[vec![0, 1], vec![0]], 2), 2);
        assert_eq!(matched(&[vec![0], vec![0]], 2), 1);
        assert_eq!(matched(&[vec![0, 1], vec![1, 2], vec![0], vec![2]], 3), 3);
        assert_eq!(matched(&[vec![0, 1], vec![0, 2], vec![0], vec![1, 3]], 4), 4);
        assert_eq!(matched(&[], 3), 0);
    }
}
